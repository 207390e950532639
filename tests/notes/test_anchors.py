"""Names that a repository can be asked for, told from words by how they are written, and where they are defined."""

import pytest

from memem.notes import repository, symbols


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


@pytest.mark.parametrize(
    "text",
    [
        "def verify(token):",
        "    async def verify(self):",
        "class verify(Base):",
        "func (s *Store) verify(ctx context.Context) error {",
        "func verify() {",
        "export const verify = (token) => token",
        "const verify: Check = check",
        "export default function verify() {",
        "pub(crate) fn verify(token: &str) -> bool {",
        "type verify struct {",
        "public static boolean verify(String token) throws Denied {",
        "  verify(token) {",
        "static int *verify(char *token) {",
        "void Auth::verify(Token token) const {",
        "verify() {",
        "#define verify(x) check(x)",
        "  def self.verify(token)",
        "verify = 3",
        "    self.verify = True",
        "verify: int = 3",
        "export verify=1",
        "verify := 3",
        "  verify: true",
        '  "verify": true,',
        "verify: build test",
        "CREATE TABLE IF NOT EXISTS verify (",
        'create table "verify" (',
        "first line\n\ndef verify(): ...\nlast line",
    ],
)
def test_a_definition_is_known_in_any_language(text: str) -> None:
    assert symbols.is_defined("verify", text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "verify(token)",
        "return verify(token) {",
        "if (verify(token)) {",
        "  } else if verify(token) {",
        "x = verify(token)",
        "if verify == 3:",
        "import verify from './verify'",
        "from auth import verify",
        "Auth::verify(token);",
        "verify::token()",
        "unless verify then",
        "# verify the token",
        "the word verify: here",
        "class Verify:",
        "def verify_all(): ...",
        "def unverify(): ...",
        f"def verify(): {'x' * 2_000}",
    ],
)
def test_a_use_of_a_name_is_no_definition(text: str) -> None:
    assert not symbols.is_defined("verify", text)


@pytest.mark.parametrize("name", ["true", "True", "null", "None", "main", "test", "name", "self", "string", "data"])
def test_names_in_most_files_are_common(name: str) -> None:
    assert symbols.is_common(name)


@pytest.mark.parametrize("name", ["verify", "verify_token", "AuthService", "RETRIES", "sha256"])
def test_names_of_their_own_are_not_common(name: str) -> None:
    assert not symbols.is_common(name)
