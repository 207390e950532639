"""Find credentials by the name next to them: `password: …`, `API_KEY=…`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from memem.core.data_files import Patterns, load_table
from memem.safety.credentials.values import is_chosen, is_generated, is_random, is_real

MAX_BARE_CHARS = 80
_PATTERNS = Patterns(__file__, "names.toml")


@cache
def _names() -> tuple[tuple[str, ...], re.Pattern[str]]:
    names = tuple(load_table(__file__, "names.toml")["names"])
    return names, re.compile("|".join(names))


@dataclass(frozen=True, slots=True)
class _Assignment:
    kind: str
    name: str
    before: str
    how: str  # the group of the pattern that matched: assign, says, comma, flag or gap
    sign: str
    quoted: bool
    value: str
    start: int
    end: int
    after: str


def find_named(text: str, lowered: str) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of each credential; `lowered` is the text in lower case, of the same length."""
    names, pattern = _names()
    if not any(name in lowered for name in names):
        return
    reached = 0
    for name in pattern.finditer(lowered):
        if name.start() < reached:
            continue
        kind, end = _complete_name(text, lowered, name)
        assignment = _read_assignment(text, kind, name.start(), end) if kind else None
        if assignment and _is_secret(assignment):
            is_cut = not assignment.quoted and len(assignment.value) == MAX_BARE_CHARS
            rest = _PATTERNS["bare_rest"].match(text, assignment.end) if is_cut else None
            reached = rest.end() if rest else assignment.end
            yield kind, assignment.start, reached


def _complete_name(text: str, lowered: str, name: re.Match[str]) -> tuple[str, int]:
    """Return the kind of credential that a name promises, empty for none, and where the name ends."""
    start, end = name.span()
    kind = name.group()
    if kind == "pass":
        ending = _PATTERNS["password_ending"].match(lowered, end)
        return ("password", ending.end()) if ending else ("", end)
    if kind == "pw":
        return ("password" if _PATTERNS["short_password"].match(lowered, start) else "", end)
    if kind == "key":
        owner = _PATTERNS["key_of"].search(lowered, max(0, start - 14), start)
        is_own_word = not lowered[start - 1 : start].isalpha() or text[start].isupper()
        is_key = is_own_word and not _PATTERNS["open_key"].search(lowered, max(0, start - 14), start)
        return (f"{owner[1]} key" if owner else "key" if is_key else "", end)
    if kind in ("cred", "auth"):
        ending = _PATTERNS["vague_ending"].match(lowered, end)
        return ("credential", ending.end()) if ending and not lowered[start - 1 : start].isalpha() else ("", end)
    if kind in ("secret", "token"):
        other = _PATTERNS["other_token"].search(lowered, max(0, start - 16), start)
        return ("" if other else kind, end)
    return "password", end


def _read_assignment(text: str, kind: str, start: int, end: int) -> _Assignment | None:
    name, before = text[start:end], text[max(0, start - 48) : start]
    separator = None if _PATTERNS["user"].search(before) else _PATTERNS["separator"].match(text, end)
    if separator is None:
        separator = _PATTERNS["flag_gap" if _PATTERNS["flag"].search(before) else "gap"].match(text, end)
    if separator is None:
        return None
    quoted = _PATTERNS["quoted"].match(text, separator.end())
    match = quoted or _PATTERNS["bare"].match(text, separator.end())
    if match is None:
        return None
    value, value_start = match["value"], match.start("value")
    if not quoted and not value.endswith("..."):
        value = value.rstrip(".,:;)]}>*|")
    user, slash, rest = value.partition("/")
    if before.endswith("/") and user and rest:  # user/password: admin/hunter2
        value, value_start = rest, value_start + len(user + slash)
    how = str(separator.lastgroup)
    value_end = value_start + len(value)
    after = text[value_end : value_end + 1]
    return _Assignment(
        kind, name, before, how, separator[how], quoted is not None, value, value_start, value_end, after
    )


def _is_secret(it: _Assignment) -> bool:
    is_password, name = it.kind == "password", it.name.lower()
    is_variable = it.name.isupper() and it.sign == "="
    is_sentence = re.search(r"\s", it.value) and not is_variable and name != "passphrase"
    if len(it.value) < 4 or is_sentence:
        return False
    # Tests pass, too, and say so in capitals.
    if name == "pass" and (it.how not in ("assign", "flag") or (it.name == "PASS" and it.before[-1:] not in "_/-")):
        return False
    if it.kind in ("key", "credential"):
        return is_random(it.value) or (is_variable and len(it.value) > 31 and is_generated(it.value))
    # A plain word may be the secret in an environment variable, a quoted password, or an entry on its own line of a
    # settings file. Elsewhere the value has to look like a secret.
    is_string = is_password and it.quoted and it.how in ("assign", "says", "flag")
    is_alone = it.sign in (":", ": ", "=") and it.after in ("", "\n") and _PATTERNS["entry"].search(it.before)
    is_entry = is_alone and (it.name.isupper() or (is_password and it.value.islower()))
    if is_variable or is_string or is_entry:
        return is_real(it.value)
    if is_password:
        return is_chosen(it.value)
    return is_generated(it.value, at_least=12 if it.how == "gap" else 6 if name == "secret" else 10)
