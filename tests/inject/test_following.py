"""A prompt that points to what was said before is known, and is searched for with what it points to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.inject.prompt_kinds import MOST_SIGNS, MOST_WORDS, SEARCHED, add_referent, refers_back

FOLLOWING = """
    and the other one? | and the admin page? | ok, and on mobile? | what about staging | how about the worker? |
    same for the invoice table | Same in the client. | do it for staging too | do that for the tests as well |
    why did we do that again? | why is it slow? | which port does it use | make it faster | rename it to Ledger |
    does it retry? | can they be null | delete them | fix those first | also for staging | also add a test |
    then the footer | now the footer | use redis instead | which one is better | the red ones |
    that one is wrong | is that still used? | revert that and explain | and if it fails? | but why? | why? |
    why not | how so? | since when? | what else | on windows? | in production | with postgres 16 |
    for the admin users | the cache? | undo both | fix the rest | do the others | what does the client see then? |
    look in there | hm, staging? | use the latter | ok. so how do we deploy it | yes, and the docs? | or a queue?"""
FOLLOWING_IN_SIGNS = """
    那个呢 | 另一个 | 也加到测试环境 | 那测试环境呢？ | 还有登录页 | 它为什么慢 | 刚才的改动 | 好的，那数据库呢 |
    前者 | 測試環境也要 | 其他的也改掉 | 同样处理订单表 | staging 也要 | それはなぜ？ | もう一つは？ | 그건 왜 느려?"""
STANDING_ALONE = """
    how do we sign tokens | why does the nightly build fail on windows? | add a test that checks the full command |
    ensure that JSON parsing is strict | check that the cache is warm | build the docker image and push it |
    read src/config.py and explain it | rename parse_row to read_row and export it |
    which database do we use | what is the retention of raw events | run the tests again | run the tests |
    is it possible to use sqlite here | does it make sense to cache tokens | how long does it take to deploy |
    use the same port as the payments service | where are feature flags evaluated and who removes them |
    support both Postgres and MySQL | the other day we changed the port | let's keep it simple | give it a try |
    does gemini support hooks? | OPS-4821? | auth.py? | README | deploy to staging | too many open files |
    the rest of the form is done | one of the tests fails | show me the login handler |
    write a migration that adds a nullable column to the orders table and backfills it from the events
"""
NEEDING_NOTHING = """
    yes | ok thanks | continue | do it | go ahead | do that again | 1 | A. | 2. | option 2 | 1 and 3 | commit this |
    commit it and push | undo that | revert it please | open a draft PR | 好的 | 继续 | hm |
    the second one | ? | ! | 👍 |"""
STANDING_ALONE_IN_SIGNS = """
    把按钮的圆角改成 8px | 数据库用的是哪个版本 | 修复登录 | テストの名前を直して | 설정 화면 글꼴 크기 좀 줄여줘"""


def rows(table: str) -> list[str]:
    return [row.strip() for row in table.replace("\n", " ").split("|")]


@pytest.mark.parametrize("prompt", rows(FOLLOWING) + rows(FOLLOWING_IN_SIGNS))
def test_a_prompt_that_points_to_what_was_said_is_a_follow_up(prompt: str) -> None:
    assert refers_back(prompt)


@pytest.mark.parametrize("prompt", rows(STANDING_ALONE) + rows(STANDING_ALONE_IN_SIGNS))
def test_a_prompt_that_says_what_it_is_about_is_none(prompt: str) -> None:
    assert not refers_back(prompt)


@pytest.mark.parametrize("prompt", rows(NEEDING_NOTHING))
def test_a_nod_a_choice_or_a_chore_is_none_either(prompt: str) -> None:
    assert not refers_back(prompt)


def test_a_long_prompt_is_no_follow_up() -> None:
    assert refers_back("and " + "so " * (MOST_WORDS - 1))
    assert not refers_back("and " + "so " * MOST_WORDS)
    assert refers_back("它" * MOST_SIGNS)
    assert not refers_back("它" * (MOST_SIGNS + 1))


def test_a_prompt_with_much_content_of_its_own_is_no_follow_up() -> None:
    assert refers_back("and the retry limit?")
    assert not refers_back("and raise retry limit timeout backoff jitter everywhere")


def test_what_was_pasted_is_no_follow_up() -> None:
    assert refers_back("and " + "x" * (SEARCHED - 4))
    assert not refers_back("and " + "x" * SEARCHED)


@given(st.text(max_size=80))
def test_any_prompt_can_be_judged_and_capitals_do_not_matter(prompt: str) -> None:
    if prompt.isascii():
        assert refers_back(prompt) == refers_back(prompt.upper())
    refers_back(prompt)


def test_the_search_begins_with_the_prompt_and_goes_on_with_what_it_refers_to() -> None:
    before = ["cap the refunds", "Refunds above 500 need an approval."]
    expected = "and the big ones?\ncap the refunds\nRefunds above 500 need an approval."
    assert add_referent(" and the\nbig ones? ", before) == expected


def test_with_nothing_before_it_a_prompt_is_searched_for_as_it_is() -> None:
    assert add_referent("and the big ones?", []) == "and the big ones?"


def test_the_only_thing_that_was_said_is_referred_to() -> None:
    assert add_referent("and now?", ["cap the refunds"]) == "and now?\ncap the refunds"


def test_a_nod_is_not_what_is_referred_to() -> None:
    before = ["cap the refunds", "Shall I add the bulk variant?", "yes please", "Done."]
    assert add_referent("why?", before) == "why?\nShall I add the bulk variant?\nDone."


def test_code_tables_and_lists_of_files_are_left_out() -> None:
    answer = """## Done
I moved the **check** into `charge`:

```go
func secret() {}
```

| file | lines |
|------|-------|
- src/pay/charge.go
- `src/pay/refund.go` (new)
├── src
    indented code
1. The limit is 500.
```
never closed"""
    assert add_referent("why?", [answer]) == "why?\nDone I moved the check into charge: The limit is 500."


def test_of_a_long_answer_the_beginning_and_the_end_are_taken() -> None:
    answer = "First the beginning. " + "filler words " * 100 + "And at last the end?"
    text = add_referent("why?", ["cap the refunds", answer])
    assert text.startswith("why?\ncap the refunds\nFirst the beginning. filler")
    assert " … " in text
    assert text.endswith("And at last the end?")
    assert len(text) <= SEARCHED


def test_of_a_long_question_only_the_beginning_leaves_room_for_the_answer() -> None:
    text = add_referent("why?", ["question " * 100, "the answer"])
    assert text.endswith("question\nthe answer")
    assert len(text) <= SEARCHED


def test_a_script_without_spaces_is_cut_anywhere() -> None:
    text = add_referent("那个呢", ["数据库" * 100, "部署" * 200])
    assert text.startswith("那个呢\n数据库数据库")
    assert text.endswith("部署部署")
    assert SEARCHED - 20 < len(text) <= SEARCHED


def test_a_word_longer_than_its_room_is_left_out() -> None:
    assert add_referent("why?", ["x" * 1_000, "the answer"]) == "why?\nthe answer"


WORDS = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta-epsilon"]), min_size=1, max_size=120).map(" ".join)


@given(WORDS, st.lists(WORDS, max_size=4))
def test_no_word_is_cut_and_the_bound_is_kept(prompt: str, before: list[str]) -> None:
    text = add_referent(prompt[:100], before)
    assert len(text) <= SEARCHED
    said = {word for each in before for word in each.split()} | set(prompt[:100].split()) | {"…"}
    assert set(text.split()) <= said


@given(st.text(max_size=500), st.lists(st.text(max_size=900), max_size=4))
def test_anything_can_be_resolved(prompt: str, before: list[str]) -> None:
    assert len(add_referent(prompt, before)) <= SEARCHED
