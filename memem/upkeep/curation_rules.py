"""Rules of curation: which memories can be merged, split or archived without losing anything.

Two memories are merged if one says everything that the other says. A different number, name, version, negation or
direction, a contradiction, or another project keeps them apart. In doubt both stay.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations

from memem.compare.relation import CONTAINED, CONTAINS, NEAR, SAME
from memem.compare.tokens import SMALL, Sentence, sentences, unwrapped
from memem.core.dates import moment
from memem.core.memory import ORDINARY, Entry, Memory
from memem.notes import decide
from memem.safety.gate import MAX_ITEMS

MIN_LIKENESS = 0.8  # share of common words for a merge of texts that only say almost the same
MIN_COSINE = 0.95  # the same for vectors
OLD_DAYS = 180  # half as long as receipts are kept, so that any use is still recorded
MIN_PROMPTS = 50  # since the memory was written; an idle project needs nothing
LOW_IMPORTANCE = 2  # the default is 3
ALWAYS_NEEDED = ("convention", "preference")

_LOOSE = frozenset(("in", "on", "at", "of", "and"))  # one of these for another leaves a statement as it is
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")


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
    found = decide.compared(one, other).relation
    if found == SAME:
        return SAME
    if found == CONTAINS:
        return CONTAINS if _is_contained(one, other) else ""
    if found == CONTAINED:
        return CONTAINED if _is_contained(other, one) else ""
    alike = (
        found == NEAR and (likeness >= MIN_LIKENESS or (cosine or 0.0) >= MIN_COSINE) and _have_same_words(one, other)
    )
    return NEAR if alike and (_is_contained(one, other) or _is_contained(other, one)) else ""


def merge(one: Entry, other: Entry, relation: str, theirs: frozenset[str]) -> Merge | None:
    """Decide which of the two stays. `theirs` are the ids of a person's notes."""
    kept, ended = one, other
    if relation == CONTAINS or (relation in (SAME, NEAR) and _rank(other, theirs) < _rank(one, theirs)):
        kept, ended = other, one
    if kept.memory.layer > ended.memory.layer:
        return None  # a memory that every session sees would disappear
    added = tuple(each for each in sentences_of(ended.body) if not says(kept.body, each)) if relation == NEAR else ()
    return Merge(kept, ended, relation, added, kept.id in theirs, _yours(kept, ended, added, theirs))


def gained(kept: Memory, ended: Memory) -> dict[str, tuple[str, ...]]:
    """The keys, paths and anchors of the kept memory, if it gains some from the other."""
    lists = {name: (getattr(kept, name), getattr(ended, name)) for name in ("keys", "paths", "anchors")}
    both = {name: tuple(dict.fromkeys((*own, *more)))[:MAX_ITEMS] for name, (own, more) in lists.items()}
    return {name: items for name, items in both.items() if items != lists[name][0]}


def sentences_of(text: str) -> tuple[str, ...]:
    """The sentences of a text as written, without bullets."""
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


def _yours(kept: Entry, ended: Entry, added: tuple[str, ...], theirs: frozenset[str]) -> str:
    if ended.id in theirs:
        return f"{ended.memory.id8} is yours"
    changes = added or gained(kept.memory, ended.memory)
    return f"{kept.memory.id8}, which would have to change, is yours" if kept.id in theirs and changes else ""


def _rank(entry: Entry, theirs: frozenset[str]) -> tuple[bool, int, int, int, str, str]:
    """The lower rank stays: a person's note, then the more important, the longer, the older."""
    memory = entry.memory
    words = len(memory.body.split())
    return (entry.id not in theirs, memory.layer, -memory.importance, -words, memory.created, memory.id)


def _have_same_words(one: Memory, other: Memory) -> bool:
    """Whether one has the words of the other in the same order, and both have the same names and small words."""
    shorter, longer = sorted((list(_content_words(one.body)), list(_content_words(other.body))), key=len)
    rest = iter(longer)
    in_order = all(any(word == candidate for candidate in rest) for word in shorter)
    return in_order and _marks(one.body) == _marks(other.body)


def _is_contained(one: Memory, other: Memory) -> bool:
    """Whether every sentence of one is a sentence of the other: an additional word may restrict its meaning."""
    mine, yours = (
        {tuple(key for key in keys if key not in _LOOSE) for keys in _sentence_words(each.body)}
        for each in (one, other)
    )
    return mine <= yours


def _sentence_words(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(sentence.keys for sentence in sentences(text))


def _content_words(text: str) -> Iterator[str]:
    for sentence in sentences(text):
        yield from (token.key for token in sentence.content)


def _marks(text: str) -> list[list[str]]:
    """The names and numbers of a text in their order, and its small words."""
    tokens = [token for sentence in sentences(text) for token in sentence.spoken]
    values = [token.key for token in tokens if token.is_value]
    return [values, sorted(token.key for token in tokens if token.kind == SMALL and token.key not in _LOOSE)]


MIN_PARTS = 3  # two may be a statement and its reason
MIN_PART_WORDS = 4
MAX_PARTS, MAX_CHARACTERS = 20, 4_000  # more is a document

_BULLET = re.compile(r"[-*+•][ \t]+(?=\S)")
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
    pieces = list(_split_pieces(memory.body))
    if not MIN_PARTS <= len(pieces) <= MAX_PARTS or not all(map(_is_independent, pieces)):
        return ()
    parts = [sentences(piece) for piece in pieces]
    ignored = {memory.project, *re.findall(r"\w+", memory.project)}
    subjects = [_subjects(part) - ignored for part in parts]
    if _title_says_more(memory.title, set().union(*map(_all_words, parts), ignored)):
        return ()
    groups = _group(parts, subjects)
    texts = [_joined([pieces[place] for place in group]) for group in groups]
    are_complete = all(_is_complete([parts[place] for place in group]) for group in groups)
    return tuple(texts) if are_complete and len(texts) >= MIN_PARTS else ()


def _split_pieces(body: str) -> Iterator[str]:
    """Paragraphs, and in a list each bullet with the lines below it."""
    for paragraph in re.split(r"\n[ \t]*\n", body.strip()):
        piece: list[str] = []
        for line in paragraph.splitlines():
            if _BULLET.match(line) and piece:
                yield "\n".join(piece)
                piece = []
            piece.append(line)
        if piece:
            yield "\n".join(piece)


def _is_independent(piece: str) -> bool:
    """Whether a piece is a bullet that announces nothing and refers to nothing outside of it."""
    ends = piece.endswith((":", "："))
    return bool(_BULLET.match(piece)) and not ends and _POINTING.isdisjoint(re.findall(r"\w+", piece.lower()))


def _subjects(part: Sequence[Sentence]) -> set[str]:
    return {token.key for sentence in part for token in sentence.content if token.is_telling}


def _all_words(part: Sequence[Sentence]) -> set[str]:
    return {token.key for sentence in part for token in sentence.tokens}


def _title_says_more(title: str, words: set[str]) -> bool:
    """Whether the title names a subject that no part names: they may all be about it."""
    return any(
        token.is_telling and token.key not in words and token.raw.casefold() not in _NO_SUBJECT
        for sentence in sentences(title)
        for token in sentence.content
    )


def _group(parts: Sequence[Sequence[Sentence]], subjects: Sequence[set[str]]) -> list[list[int]]:
    """Group the positions of parts that share a subject, or continue one another."""
    group_of = list(range(len(parts)))
    pairs = [pair for pair in combinations(group_of, 2) if subjects[pair[0]] & subjects[pair[1]]]
    pairs += [(place - 1, place) for place in group_of[1:] if not parts[place] or parts[place][0].goes_on]
    for one, other in pairs:
        first, second = sorted((group_of[one], group_of[other]))
        group_of = [first if at == second else at for at in group_of]
    return [[place for place, at in enumerate(group_of) if at == first] for first in sorted(set(group_of))]


def _is_complete(parts: Sequence[Sequence[Sentence]]) -> bool:
    """Whether a part has enough words and does not begin with `it` or `this`."""
    words = sum(len(sentence.content) for part in parts for sentence in part)
    return bool(parts[0]) and not parts[0][0].goes_on and words >= MIN_PART_WORDS


def _joined(pieces: Sequence[str]) -> str:
    if len(pieces) == 1:
        return re.sub(r"\n[ \t]+", "\n", _BULLET.sub("", pieces[0], count=1) if _BULLET.match(pieces[0]) else pieces[0])
    return "\n".join(pieces) if all(_BULLET.match(piece) for piece in pieces) else "\n\n".join(pieces)
