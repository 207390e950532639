"""Rules of curation: which memories can be split into independent ones. In doubt a memory stays whole."""

import re
import uuid
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import PurePosixPath
from typing import Any

from memem.compare.tokens import Sentence, sentences
from memem.core.memory import Entry, Memory, fingerprint

MIN_PARTS = 3  # two may be a statement and its reason
MIN_PART_WORDS = 4
MAX_PARTS, MAX_CHARACTERS = 20, 4_000  # more is a document

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "memem:split")
_BULLET = re.compile(r"[-*+•][ \t]+(?=\S)")
_NEXT_BULLET = re.compile(rf"\n[ \t]*\n+|\n(?={_BULLET.pattern})")
# Code, a table, sections, a quotation or steps: the text is one.
_WHOLE = re.compile(r"^[ \t]*(?:```|~~~|\||#{1,6}[ \t]|>|\d+[.)][ \t])", re.MULTILINE)
_POINTING = frozenset("there here these those same both former latter above below instead otherwise".split())
# Words of a title that name no subject.
_NO_SUBJECT = frozenset(
    "note notes misc various several thing things learned learning lesson lessons fact facts session summary list tip "
    "tips detail details info information memory memories finding findings general other some and from about".split()
)


def split_parts(memory: Memory) -> tuple[str, ...]:
    """The texts that a memory can be split into; empty if it is one statement or cannot be split safely."""
    if memory.kind == "procedure" or len(memory.body) > MAX_CHARACTERS or _WHOLE.search(memory.body):
        return ()
    bullets = _NEXT_BULLET.split(memory.body.strip())
    if not MIN_PARTS <= len(bullets) <= MAX_PARTS or not all(map(_is_independent, bullets)):
        return ()
    parts = [sentences(bullet) for bullet in bullets]
    ignored = {memory.project, *re.findall(r"\w+", memory.project)}
    words = {token.key for part in parts for sentence in part for token in sentence.tokens}
    if _title_says_more(memory.title, words | ignored):
        return ()
    groups = _group(parts, ignored)
    if len(groups) < MIN_PARTS or not all(_is_complete([parts[place] for place in group]) for group in groups):
        return ()
    return tuple(_join([bullets[place] for place in group]) for group in groups)


def make_part(old: Entry, text: str, parts: Sequence[str], now: str) -> Memory:
    """The memory for one part; its id is always the same, so that an interrupted split can be completed."""
    others = [part for part in parts if part != text]
    fields: dict[str, Any] = dict.fromkeys(("created", "updated", "valid_from"), now)
    fields |= {name: _select_named(getattr(old.memory, name), text, others) for name in ("keys", "paths", "anchors")}
    identity = str(uuid.uuid5(_NAMESPACE, f"{old.id}\n{fingerprint(text)}"))
    return replace(old.memory, id=identity, title="", body=text, supersedes=old.link, **fields)


def _select_named(items: Sequence[str], text: str, others: Sequence[str]) -> tuple[str, ...]:
    """The items that this text names, and those that no part names."""

    def is_named(item: str, part: str) -> bool:
        return PurePosixPath(item.rpartition("#")[2]).name.casefold() in part.casefold()

    return tuple(item for item in items if is_named(item, text) or not any(is_named(item, part) for part in others))


def _is_independent(bullet: str) -> bool:
    """Whether a text is a bullet that announces nothing and refers to nothing outside of it."""
    is_whole = _BULLET.match(bullet) and not bullet.endswith((":", "："))
    return bool(is_whole) and _POINTING.isdisjoint(re.findall(r"\w+", bullet.lower()))


def _title_says_more(title: str, words: set[str]) -> bool:
    """Whether the title names a subject that no part names: they may all be about it."""
    tokens = (token for sentence in sentences(title) for token in sentence.content if token.is_telling)
    return any(token.key not in words and token.raw.casefold() not in _NO_SUBJECT for token in tokens)


def _group(parts: Sequence[Sequence[Sentence]], ignored: set[str]) -> list[list[int]]:
    """Group the positions of parts that share a subject, or continue one another."""
    subjects = [
        {token.key for sentence in part for token in sentence.content if token.is_telling} - ignored for part in parts
    ]
    group_of = list(range(len(parts)))
    pairs = [(one, other) for one, other in combinations(group_of, 2) if subjects[one] & subjects[other]]
    pairs += [(place - 1, place) for place in group_of[1:] if not parts[place] or parts[place][0].goes_on]
    for one, other in pairs:
        first, second = sorted((group_of[one], group_of[other]))
        group_of = [first if group == second else group for group in group_of]
    return [[place for place, group in enumerate(group_of) if group == first] for first in sorted(set(group_of))]


def _is_complete(parts: Sequence[Sequence[Sentence]]) -> bool:
    """Whether a part has enough words and does not begin with `it` or `this`."""
    words = sum(len(sentence.content) for part in parts for sentence in part)
    return bool(parts[0]) and not parts[0][0].goes_on and words >= MIN_PART_WORDS


def _join(bullets: Sequence[str]) -> str:
    if len(bullets) > 1:
        return "\n".join(bullets)
    return re.sub(r"\n[ \t]+", "\n", _BULLET.sub("", bullets[0], count=1))
