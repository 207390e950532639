"""Names that a repository can be asked for, told from words by how they are written."""

import pytest

from memem.notes import repository


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("Use `verify` here", ["verify"]),
        ("call verify_token() first", ["verify_token"]),
        ("the function verify() is slow", ["verify"]),
        ("AuthService signs, authService calls, HTTPServer waits", ["AuthService", "authService", "HTTPServer"]),
        ("see auth.tokens and Auth::verify and row->next", ["auth.tokens", "Auth::verify", "row->next"]),
        ("`a && b` is no name, nor is `./run.sh now`", []),
        ("MAX_SIZE is 3", ["MAX_SIZE"]),
        ("plain words, Capital Words, and ab", []),
        ("`ab` is too short", []),
        ("see src/auth.py and https://example.com/a_b", []),
        ("`verify` and verify() are one", ["verify"]),
    ],
)
def test_identifiers_are_known_by_how_they_are_written(statement: str, names: list[str]) -> None:
    assert list(repository.identifiers(statement)) == names


def test_a_statement_full_of_names_is_bounded() -> None:
    statement = " ".join(f"name_{number}" for number in range(500))
    assert len(repository.identifiers(statement)) == repository.MOST_IDENTIFIERS


def test_a_name_that_leads_to_another_may_stand_there_in_parts() -> None:
    assert repository.spellings("Auth.verify_token") == ("Auth.verify_token", "Auth", "verify_token")
    assert repository.spellings("verify") == ("verify",)


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("def verify(token):", True),
        ("verify", True),
        ("unverify verify_all reverify2", False),
        ("verifying, then verify", True),
        ("", False),
    ],
)
def test_name_matches_whole_words_only(text: str, stands: bool) -> None:
    assert repository.stands_in("verify", text) is stands
