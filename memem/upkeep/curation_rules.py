"""Rules of curation: which memories can be merged, archived or split without losing anything. In doubt they stay."""

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations
from pathlib import PurePosixPath
from typing import Any

from memem.compare.relation import CONTAINED, CONTAINS, NEAR, SAME
from memem.compare.tokens import SMALL, Sentence, sentences, unwrapped
from memem.core.dates import moment
from memem.core.memory import ORDINARY, Entry, Memory, fingerprint
from memem.core.trust import is_rule
from memem.notes import decide
from memem.safety.gate import MAX_ITEMS

MIN_LIKENESS = 0.8  # share of common words for a merge of texts that only say almost the same
MIN_COSINE = 0.95  # the same for vectors
OLD_DAYS = 180  # half as long as receipts are kept, so that any use is still recorded
MIN_PROMPTS = 50  # since the memory was written; an idle project needs nothing
LOW_IMPORTANCE = 2  # the default is 3
ALWAYS_NEEDED = ("convention", "preference")
MIN_PARTS = 3  # two may be a statement and its reason
MIN_PART_WORDS = 4
MAX_PARTS, MAX_CHARACTERS = 20, 4_000  # more is a document

_LOOSE = frozenset(("in", "on", "at", "of", "and"))  # one of these for another leaves a statement as it is
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")
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


@dataclass(frozen=True, slots=True)
class Merge:
    kept: Entry
    ended: Entry
    relation: str
    added: tuple[str, ...] = ()  # sentences to add to the kept memory
    untouched: bool = False  # the kept note belongs to a person and is not changed
    yours: str = ""  # why only a person may merge them


def relation(one: Memory, other: Memory, likeness: float, cosine: float | None = None) -> str:
    """How the second relates to the first, if they can be merged: same, contains, contained, near, or empty."""
    if one.project != other.project or one.valid_to != other.valid_to:
        return ""
    compared = decide.compared(one, other).relation
    if compared == SAME:
        return SAME
    is_part, has_part = _is_contained(one, other), _is_contained(other, one)
    is_alike = (likeness >= MIN_LIKENESS or (cosine or 0.0) >= MIN_COSINE) and _have_same_words(one, other)
    can_merge = {CONTAINS: is_part, CONTAINED: has_part, NEAR: (is_part or has_part) and is_alike}
    return compared if can_merge.get(compared) else ""


def merge(one: Entry, other: Entry, relation: str, theirs: frozenset[str]) -> Merge | None:
    """Decide which of the two stays. `theirs` are the ids of a person's notes."""
    kept, ended = one, other
    if relation == CONTAINS or (relation in (SAME, NEAR) and _rank(other, theirs) < _rank(one, theirs)):
        kept, ended = other, one
    if kept.memory.layer > ended.memory.layer:
        return None  # a memory that every session sees would disappear
    new_sentences = sentences_of(ended.body) if relation == NEAR else ()
    added = tuple(sentence for sentence in new_sentences if not says(kept.body, sentence))
    if added and is_rule(kept.memory) and not is_rule(ended.memory):
        return None  # what may not be a rule would become one
    if ended.id in theirs:
        yours = f"{ended.memory.id8} is your own note"
    elif kept.id in theirs and (added or gained(kept.memory, ended.memory)):
        yours = f"it would change {kept.memory.id8}, which is your own note"
    else:
        yours = ""
    return Merge(kept, ended, relation, added, kept.id in theirs, yours)


def gained(kept: Memory, ended: Memory) -> dict[str, tuple[str, ...]]:
    """The keys, paths and anchors of the kept memory, if it gains some from the other."""
    lists = {name: (getattr(kept, name), getattr(ended, name)) for name in ("keys", "paths", "anchors")}
    both = {name: tuple(dict.fromkeys((*own, *more)))[:MAX_ITEMS] for name, (own, more) in lists.items()}
    return {name: items for name, items in both.items() if items != lists[name][0]}


def sentences_of(text: str) -> tuple[str, ...]:
    parts = (re.sub(r"^\s*[-*+•]\s+", "", part).strip() for part in _SENTENCE_END.split(unwrapped(text)))
    return tuple(part for part in parts if re.search(r"\w", part))


def says(text: str, sentence: str) -> bool:
    """Whether a text contains a whole sentence: `guest sessions expire` does not say that sessions expire."""
    if " ".join(sentence.split()) in (" ".join(own.split()) for own in sentences_of(text)):
        return True
    wanted = _sentence_words(sentence)
    return bool(wanted) and wanted <= _sentence_words(text)


def idle(memory: Memory, now: datetime, *, prompts: int, shown: int, used: int) -> str:
    """Why a memory can be archived (it is old, unimportant and was never used), or an empty string."""
    written = moment(memory.updated or memory.created)
    if memory.source_type != "mined" or memory.layer != ORDINARY or memory.kind in ALWAYS_NEEDED or written is None:
        return ""
    days = (now - written).days
    if used or memory.importance > LOW_IMPORTANCE or days < OLD_DAYS or prompts < MIN_PROMPTS:
        return ""
    seen = f"shown {shown} time{'s' * (shown != 1)} and never used" if shown else "never used"
    return f"{seen} in {prompts:,} prompts, unchanged for {days} days, importance {memory.importance}"


def _rank(entry: Entry, theirs: frozenset[str]) -> tuple[bool, int, int, int, str, str]:
    """The lower rank stays: a person's note, then the more important, the longer, the older."""
    memory, words = entry.memory, len(entry.body.split())
    return (entry.id not in theirs, memory.layer, -memory.importance, -words, memory.created, memory.id)


def _have_same_words(one: Memory, other: Memory) -> bool:
    """Whether one has the words of the other in the same order, and both have the same names and small words."""
    content = [[token.key for part in sentences(each.body) for token in part.content] for each in (one, other)]
    shorter, longer = sorted(content, key=len)
    rest = iter(longer)
    in_order = all(any(word == candidate for candidate in rest) for word in shorter)
    return in_order and _marks(one.body) == _marks(other.body)


def _is_contained(one: Memory, other: Memory) -> bool:
    """Whether every sentence of one is a sentence of the other: an additional word may restrict its meaning."""
    mine, yours = (
        {tuple(key for key in keys if key not in _LOOSE) for keys in _sentence_words(memory.body)}
        for memory in (one, other)
    )
    return mine <= yours


def _sentence_words(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(sentence.keys for sentence in sentences(text))


def _marks(text: str) -> list[list[str]]:
    """The names and numbers of a text in their order, and its small words."""
    tokens = [token for sentence in sentences(text) for token in sentence.spoken]
    values = [token.key for token in tokens if token.is_value]
    return [values, sorted(token.key for token in tokens if token.kind == SMALL and token.key not in _LOOSE)]


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
    title = (token for sentence in sentences(memory.title) for token in sentence.content if token.is_telling)
    subjects = {token.key for token in title if token.raw.casefold() not in _NO_SUBJECT}
    if subjects - words - ignored:
        return ()  # the title names a subject that no part names: they may all be about it
    groups = _group(parts, ignored)
    if len(groups) < MIN_PARTS or not all(_is_complete([parts[place] for place in group]) for group in groups):
        return ()
    return tuple(_join([bullets[place] for place in group]) for group in groups)


def make_part(old: Entry, text: str, parts: Sequence[str], now: str) -> Memory:
    """The memory for one part; its id is always the same, so that an interrupted split can be completed."""
    others = [part for part in parts if part != text]
    fields: dict[str, Any] = dict.fromkeys(("created", "updated"), now)
    fields["valid_from"] = old.memory.valid_from or old.memory.created or now  # when it was said, not when it was split
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
    is_whole = bool(_BULLET.match(bullet)) and not bullet.endswith((":", "："))
    return is_whole and _POINTING.isdisjoint(re.findall(r"\w+", bullet.lower()))


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
