"""A nod is passed over; a prompt that one could look something up for never is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.inject.prompt_kinds import MOST_TRIVIAL_WORDS, is_approval, is_trivial

NODS = """
    ok | OK! | okay, thanks | k | y | yes | Yes please. | yep, do it | no | nope | no, not now |
    sure, go ahead | go on | Go on then… | continue | please continue | proceed | next | do it |
    do that again | try again | retry | run it | hi | hello! | hey | bye | thanks | Thank you so much! | thx |
    perfect | great, thanks | nice work | good job | looks good to me | sounds good | LGTM 👍 | got it |
    I see | I agree | makes sense | that's right | That’s it | let's go | don't | never mind | stop | wait |
    keep going | that works | all good | well done | go for it | 2 | A. | 1, 2 and 3 | option B please | the first one |
    both | commit this | commit and push | yes, the last one"""
CHINESE_NODS = """
    好 | 好的 | 好吧 | 好的，继续 | 好的，谢谢 | 嗯 | 嗯嗯嗯 | 是 | 是的 | 对 | 对的 | 不对 | 行 | 可以 |
    可以了 | 没问题 | 没错 | 没事 | 谢谢 | 谢谢你！ | 多谢 | 感谢 | 继续 | 继续吧 | 请继续 | 接着 | 下一步 |
    当然 | 明白 | 明白了 | 知道了 | 收到 | 不 | 不用 | 不用了 | 不错 | 很好 | 太好了 | 你好 | 再见 | 开始 |
    开始吧 | 做吧 | 干吧 | 同意 | 确认 | 完成了 | 再试一次 | 再试次 | 重试 | 辛苦了 | 是不是 | 行不行啊 |
    ok 好的 | 繼續 | 請繼續 | 好的，謝謝 | 沒問題 | 沒錯 | 對 | 當然 | 開始吧 | 確認 | 再試一次 | 不錯 |
    再見"""
MARKS = ["", " ", "\n\t", "?", "!!!", "...", "👍", "🎉🎉", "。", "……", "___"]
ASKING = """
    fix it in auth.py | fix it | continue with the auth rollout | ok, now the login | yes, but use Postgres |
    run the tests | try again with RS256 | do the migration | go on with OPS-4821 | next: caching | why? |
    what? | how | thanks, and the token? | hi, where is main | no, it should be UTC | 404 | 143 | v2 | C# |
    README | redo | please deploy | ok ok ok ok ok ok ok | all tests | 这个 | 继续修复登录 | 好的，登录呢 |
    可以吗 | 修复 | 继续部署到生产 | 不要用HS256 | 可以用缓存吗 | 谢谢，数据库呢 | 开始迁移 | 請修復登錄 |
    はい | 네 | да | oui | merci | C++ | 用 RS256 | __init__ | @alice"""


def rows(table: str) -> list[str]:
    return [row.strip() for row in table.replace("\n", "").split("|")]


@pytest.mark.parametrize("prompt", rows(NODS) + rows(CHINESE_NODS) + MARKS)
def test_a_nod_is_trivial(prompt: str) -> None:
    assert is_trivial(prompt)


@pytest.mark.parametrize("prompt", rows(ASKING))
def test_what_could_be_looked_up_is_not(prompt: str) -> None:
    assert not is_trivial(prompt)


@pytest.mark.parametrize("choice", ["1", "12", "a", "H", "2.", "(b)", "1 and 3", "option 2", "the second", "1, 2, 3"])
def test_the_number_or_the_letter_of_an_option_is_a_nod(choice: str) -> None:
    assert is_trivial(choice)


@pytest.mark.parametrize("other", ["123", "x", "z", "１２", "2nd", "b2", "1.5.0 rollout", "port 22"])
def test_another_number_or_letter_is_none(other: str) -> None:
    assert not is_trivial(other)


def test_many_words_are_more_than_a_nod() -> None:
    assert is_trivial("yes " * MOST_TRIVIAL_WORDS)
    assert not is_trivial("yes " * (MOST_TRIVIAL_WORDS + 1))


@pytest.mark.parametrize("nods", ["嗯", "好吧", "明白了", "不用了", "好的了"])
def test_a_long_row_of_nods_costs_little(nods: str) -> None:
    assert is_trivial(nods * 5)
    assert not is_trivial(nods * 2_000)
    assert not is_trivial(nods * 2_000 + "修复")


@given(st.text(max_size=60))
def test_any_prompt_is_judged_and_capitals_do_not_matter(prompt: str) -> None:
    if prompt.isascii():
        assert is_trivial(prompt) == is_trivial(prompt.upper())
    is_trivial(prompt)


@given(st.from_regex(r"[a-z]{4,12}_[a-z]{4,12}\.py", fullmatch=True))
def test_the_name_of_a_file_beside_a_nod_makes_it_a_question(name: str) -> None:
    assert not is_trivial(f"ok {name}")


APPROVALS = """
    yes | Yes, do that. | go ahead, do that | sounds good | 1 | option 2 | 1, and then 3 please | the second approach |
    Yes, go ahead with your proposal. | I like your suggestion, do it like that | let's use the first version |
    Approved! | use option 3 | I'd take the latter | ok, implement the plan | 好的，继续吧 |
    ja, mach das so | oui, merci"""
STATEMENTS = """
    yes, but use Postgres | use pnpm | always do that | never commit | don't push | not the second one | no tabs |
    make a plan first | I prefer short answers | option 2, and keep the tests in tests/ | 用 RS256 |
    we do reviews on Mondays"""


@pytest.mark.parametrize("text", rows(APPROVALS))
def test_an_approval_or_a_choice_states_nothing(text: str) -> None:
    assert is_approval(text)


@pytest.mark.parametrize("text", rows(STATEMENTS))
def test_a_wish_of_their_own_is_no_approval(text: str) -> None:
    assert not is_approval(text)
