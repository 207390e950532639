"""A text as it reads: what is looked past is still where it was."""

from hypothesis import given
from hypothesis import strategies as st

from memem.safety.folding import fold

ODD = "\u200b\u00ad\ufeff\u2060\x1b\uff47\U0001d420\u24b6\U000e0041"


def test_plain_text_reads_as_it_is_written() -> None:
    for text in ("", "plain", "naïve café", "日本語", "done \u2705\ufe0f, \U0001f389"):
        assert fold(text) is None


def test_invisible_characters_go_and_wide_letters_become_plain() -> None:
    found = fold("a\u200bb \uff47\uff48\U0001d429")
    assert found is not None
    assert found.text == "ab ghp"
    assert found.place(0, 2) == (0, 3)
    assert found.place(3, 6) == (4, 7)


@given(st.text(alphabet=st.one_of(st.sampled_from(ODD + "ab1_"), st.characters()), max_size=40))
def test_every_plain_character_has_its_place(text: str) -> None:
    found = fold(text)
    if found is not None:
        assert len(found.text) == len(found.places)
        assert list(found.places) == sorted(set(found.places))
        assert all(place < len(text) for place in found.places)
