"""Which brackets of a JSON text are open, from its tokens: where an object ends, and that one never can."""

import re
from dataclasses import dataclass

DEEPEST = 100
"""Deeper than any line of a transcript goes."""
# A string without an `end` is torn: what was to follow on its row is lost.
# No possessive groups: Python 3.11.2 matches them wrongly. Nothing is tried twice without them either.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?P<end>"?)|[{}\[\]]|[^\s"{}\[\]]+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Nesting:
    """How far an object is open behind some rows of it: by which brackets, each with the number of its row."""

    open: bytes = b""
    since: tuple[int, ...] = ()
    last: bytes = b""  # the last character that is no space
    rows: int = 0
    broken: bool = False

    @property
    def goes_on(self) -> bool:
        return bool(self.open) and not self.broken

    def after(self, row: bytes) -> "Nesting":
        """The same behind one row more, or at that place in it where the object is closed, or broken: nothing that may
        follow could make it JSON."""
        brackets, since, last = self.open, self.since, self.last
        for match in _TOKEN.finditer(row):
            token = match.group()
            if match["end"] == b"" or not _may_stand(token, brackets, last):
                return Nesting(brackets, since, last, self.rows + 1, broken=True)
            if token in (b"{", b"["):
                brackets, since = brackets + token, (*since, self.rows)
            elif token in (b"}", b"]"):
                brackets, since = brackets[:-1], since[:-1]
                if not brackets:
                    break
            last = token[-1:]
        return Nesting(brackets, since, last, self.rows + 1)


def _may_stand(token: bytes, brackets: bytes, last: bytes) -> bool:
    if token in (b"}", b"]"):
        return brackets[-1:] + token in (b"{}", b"[]")
    if not brackets or token not in (b"{", b"["):
        return bool(brackets) or token == b"{"
    return len(brackets) < DEEPEST and (last in (b"[", b":") or (last == b"," and brackets.endswith(b"[")))
