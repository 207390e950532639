"""Whether a memory that was shown was used, by what stands in the answer; and how much that counts from then on."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from memem.core.memory import ID8, Memory
from memem.core.query import Term

MOST = 0.08
"""How far use can lift or lower a memory. It is a hint: what was used may have been used for nothing, and what left no
trace may have helped. So it decides between two that are about as relevant, and never overturns relevance."""
PATIENCE = 4.0
"""How much has to be seen before it counts: so many uses bring half of what use can bring at all."""
UNUSED_WEIGHT = 0.25
"""To leave no trace says less than to leave one."""
LEAST_WORDS = 3
LEAST_SHARE = 0.5
"""Of a memory's distinctive words so many, and such a part of them, have to stand in the answer: a long answer holds a
few of any memory's."""
TOLD = 3

LONGEST_FILE = 200
"""In characters. What is longer and has no gap is no path, but data."""

_PIECE = re.compile(r"[\w.~/-]+")
_FILE = re.compile(r"[\w.~-]+(?:/[\w.~-]+)*\.\w{1,8}")
_NUMBER = re.compile(r"[\d.,:/-]+")
_WILD = re.compile(r"[*?\[]")
_EVERYWHERE = frozenset(
    """readme.md changelog.md license.md claude.md __init__.py __main__.py main.py conftest.py setup.py pyproject.toml
    package.json package-lock.json tsconfig.json index.js index.ts index.html mod.rs lib.rs main.rs cargo.toml go.mod
    main.go requirements.txt docker-compose.yml config.toml config.json""".split()
)
"""Files that every project has: to change one says nothing."""
_GENERIC = frozenset(
    """add added api app apply argument array async available back base base64 begin behaviour bool branch break
    build call cause change check class clean client code command comment commit config configuration configure correct
    create current data database default define delete dependency deploy detail develop directory docs document
    documentation edit end ensure error event example exist expect extra fail failure false feature field file
    find fine fix folder follow format found function general git good handle happen help implement
    implementation import include index input install instance instead ipv4 ipv6 issue item job key kind large
    last late layer left level library like line list load local log logic main mean merge message method
    migration mode model module move name necessary new next node node_modules none note null number object old
    open option order output package page parameter part pass path place point possible prefer problem process
    project property provide pull push python3 query question read reason refactor release remove rename replace
    report request require response rest result return review right root rule run same save schema script second
    section server service session set setting setup sha256 shell show simple single small source start state
    status step still stop store string support sure system table task team test text thread time title tool true
    turn type unit update user usual utf-8 utf8 value variable version view wait work write written
    wrong x86_64""".split()
)
"""What stands in answers about anything, however rare it may be in a vault."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What came after a memory was shown: the prose, its words as the index spells them, and the files changed.

    `asked` is what the person said: what stands there already needed no memory.
    """

    text: str
    words: Collection[str] = ()
    files: Sequence[str] = ()
    asked: str = ""


def used(memory: Memory, marks: Sequence[Term], answered: Answered) -> str:
    """How a memory was used; empty when nothing shows that it was.

    `marks` are the words that tell it from other memories and are not the person's own: rare in the vault.
    """
    return _cited(memory, answered) or _in_files(memory, answered) or _by_words(marks, answered.words)


def _cited(memory: Memory, answered: Answered) -> str:
    """An id that looks like a word may stand anywhere."""
    id8 = memory.id8
    if len(id8) < ID8 or not any(character.isdigit() for character in id8):
        return ""
    found = re.search(rf"(?<!\w){re.escape(id8)}(?![^\W_])", answered.text)
    return "its id stands in the answer" if found else ""


def _in_files(memory: Memory, answered: Answered) -> str:
    patterns = [*filter(_says_something, memory.paths), *_files_in(memory.body)]
    for file in answered.files:
        name = file.rpartition("/")[2]
        if name not in answered.asked and any(_matches(file, pattern) for pattern in patterns):
            return f"{name} was changed, which it is about"
    return ""


def _files_in(text: str) -> list[str]:
    """The files that a text names. It is cut first: to search for them takes long in what has no gaps."""
    pieces = (piece.lstrip("/").rstrip("./-") for piece in _PIECE.findall(text) if len(piece) <= LONGEST_FILE)
    return [piece for piece in pieces if _FILE.fullmatch(piece) and piece.lower() not in _EVERYWHERE]


def _says_something(pattern: str) -> bool:
    """Whether a pattern names a file or a certain folder, and not half of the project."""
    segments = [segment for segment in pattern.split("/") if segment and not _WILD.search(segment)]
    if not _WILD.search(pattern.rpartition("/")[2]):
        return pattern.lower() not in _EVERYWHERE
    return len(segments) >= 2


def _matches(file: str, pattern: str) -> bool:
    """Whether a pattern, which counts from the root of a project, is met by a whole path."""
    return file == pattern or file.endswith(f"/{pattern}") or fnmatchcase(file, f"*/{pattern}")


def _by_words(marks: Sequence[Term], said: Collection[str]) -> str:
    telling = [mark for mark in marks if not is_generic(mark.text)]
    found = [mark for mark in telling if mark.text in said]
    names = [mark for mark in found if _is_a_name(mark)]
    if not names and (len(found) < LEAST_WORDS or len(found) < LEAST_SHARE * len(telling)):
        return ""
    told = ", ".join(mark.text for mark in (names or found)[:TOLD])
    return f"the answer has its words ({told})"


def _is_a_name(mark: Term) -> bool:
    """An identifier that nobody would hit upon; not a mere number, nor a file, which may be met on any way."""
    return mark.literal and not _NUMBER.fullmatch(mark.text) and not _FILE.fullmatch(mark.text)


def is_generic(word: str) -> bool:
    """Whether a word stands in answers about anything, in whatever form."""
    stems = {word.removesuffix(ending) for ending in ("", "s", "es", "d", "ed", "ing", "ly")}
    undoubled = {stem[:-1] for stem in stems if stem[-1:] == stem[-2:-1]}  # running, committed
    return len(word) < 2 or not _GENERIC.isdisjoint(stems | undoubled | {f"{word.removesuffix('ing')}e"})


def multiplier(shown: int, used: int) -> float:
    """What a memory's use counts in ranking: 1 as long as nothing is known, and never far from it."""
    unused = UNUSED_WEIGHT * (shown - used)
    return 1 + MOST * (used - unused) / (used + unused + PATIENCE)
