"""Pairs that may say the same are found by their words, without holding each text beside each."""

from memem.upkeep import similar_notes
from memem.upkeep.similar_notes import word_likeness


def pairs(*texts: str) -> set[tuple[int, int]]:
    return set(similar_notes.pairs_by_words(texts))


def test_a_text_is_found_in_a_longer_one() -> None:
    short = "Tokens are signed with RS256."
    assert pairs(short, "Bread is baked at dawn.", f"{short} The gateway cannot share a secret, so HS256 is out.") == {
        (0, 2)
    }


def test_texts_with_few_common_words_are_not_paired() -> None:
    assert pairs("Tokens are signed with RS256.", "Tokens are stored in Redis for an hour.") == set()


def test_the_same_text_without_a_word_in_common_with_others() -> None:
    assert pairs("Zebras graze.", "Zebras graze!") == {(0, 1)}


def test_scripts_without_spaces_are_compared_by_pairs_of_characters() -> None:
    assert pairs("会话在缓存中保存三十分钟。", "会话在缓存中保存三十分钟，然后删除。", "账单四舍五入。") == {(0, 1)}


def test_common_word_makes_no_pair() -> None:
    many = [f"service number{n} starts" for n in range(similar_notes.MAX_WORD_TEXTS + 2)]
    assert pairs(*many) == set()


def test_likeness_is_the_share_of_the_words_of_both() -> None:
    assert word_likeness("one two", "One, two!") == 1.0
    assert word_likeness("one two", "two three") == 1 / 3
    assert word_likeness("", "") == 0.0
