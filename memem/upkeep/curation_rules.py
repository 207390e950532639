"""Rules of curation: which of two memories can go, which can be split, which nobody needs. Nothing is lost.

Two become one when the one that stays says all that the other says. A number, name, version, denial or direction that
differs, a contradiction, or another project keeps them apart, whatever else they have in common. In doubt both stay.
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

VERY_ALIKE = 0.8
"""Of all the words of two texts so many have to be in both, before texts that are only near may be one."""
VERY_NEAR = 0.95
"""The same of their cosine, where there are vectors."""
OLD_DAYS = 180
"""Half as long as receipts are remembered: whoever used a memory in all that time is known."""
LEAST_PROMPTS = 50
"""So many prompts have to have passed a memory by: in a project that rests nobody had a use for anything."""
LOW_IMPORTANCE = 2
"""Three is what a memory has of which nobody has said anything."""
WANTED = ("convention", "preference")
"""What holds whether or not it was ever asked for."""

_LOOSE = frozenset(("in", "on", "at", "of", "and"))  # one of these for another leaves a statement as it is
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")


@dataclass(frozen=True, slots=True)
class Merge:
    """The memory that stays, the one that ends, what the two are to each other, and what has to be added to the first.

    `untouched` says that the first is a person's and stays as it is; `yours` why only a person may do it.
    """

    kept: Entry
    ended: Entry
    relation: str
    added: tuple[str, ...] = ()
    untouched: bool = False
    yours: str = ""


def relation(one: Memory, other: Memory, likeness: float, cosine: float | None = None) -> str:
    """What the second is to the first, if the two could be one: same, contains, contained or near; else nothing."""
    if one.project != other.project or one.valid_to != other.valid_to:
        return ""
    found = decide.compared(one, other).relation
    if found == SAME:
        return SAME
    if found == CONTAINS:
        return CONTAINS if _stands_in(one, other) else ""
    if found == CONTAINED:
        return CONTAINED if _stands_in(other, one) else ""
    alike = found == NEAR and (likeness >= VERY_ALIKE or (cosine or 0.0) >= VERY_NEAR) and _say_it_alike(one, other)
    return NEAR if alike and (_stands_in(one, other) or _stands_in(other, one)) else ""


def merge(one: Entry, other: Entry, relation: str, theirs: frozenset[str]) -> Merge | None:
    """Which of the two stays. `theirs` are the ids of those that are a person's."""
    kept, ended = one, other
    if relation == CONTAINS or (relation in (SAME, NEAR) and _rank(other, theirs) < _rank(one, theirs)):
        kept, ended = other, one
    if kept.memory.layer > ended.memory.layer:
        return None  # what is told with every session would no longer be
    added = tuple(each for each in sentences_of(ended.body) if not says(kept.body, each)) if relation == NEAR else ()
    return Merge(kept, ended, relation, added, kept.id in theirs, _yours(kept, ended, added, theirs))


def gained(kept: Memory, ended: Memory) -> dict[str, tuple[str, ...]]:
    """What the memory that stays is to be found by besides, and stands on, since the other one was."""
    lists = {name: (getattr(kept, name), getattr(ended, name)) for name in ("keys", "paths", "anchors")}
    both = {name: tuple(dict.fromkeys((*own, *more)))[:MAX_ITEMS] for name, (own, more) in lists.items()}
    return {name: items for name, items in both.items() if items != lists[name][0]}


def sentences_of(text: str) -> tuple[str, ...]:
    """The sentences of a text as they are written, bullets without their mark."""
    parts = (re.sub(r"^\s*[-*+•]\s+", "", part).strip() for part in _SENTENCE_END.split(unwrapped(text)))
    return tuple(part for part in parts if re.search(r"\w", part))


def says(text: str, sentence: str) -> bool:
    """Whether a text holds a sentence as one of its own: `guest sessions expire` does not say that sessions do."""
    if " ".join(sentence.split()) in (" ".join(own.split()) for own in sentences_of(text)):
        return True
    wanted = _claimed(sentence)
    return bool(wanted) and wanted <= _claimed(text)


def idle(memory: Memory, now: datetime, *, prompts: int, shown: int, used: int) -> str:
    """Why nobody needs a memory, in plain words: it is old, was called for by none of so many prompts, and matters
    little; nothing when it is to stay as it is."""
    written = moment(memory.updated or memory.created)
    if memory.source_type != "mined" or memory.layer != ORDINARY or memory.kind in WANTED or written is None:
        return ""
    days = (now - written).days
    if used or memory.importance > LOW_IMPORTANCE or days < OLD_DAYS or prompts < LEAST_PROMPTS:
        return ""
    seen = f"shown {shown} time{'s' * (shown != 1)} and never used" if shown else "never of use"
    return f"{seen} in {prompts:,} prompts, unchanged for {days} days, importance {memory.importance}"


def _yours(kept: Entry, ended: Entry, added: tuple[str, ...], theirs: frozenset[str]) -> str:
    if ended.id in theirs:
        return f"{ended.memory.id8} is yours"
    changes = added or gained(kept.memory, ended.memory)
    return f"{kept.memory.id8}, which would have to change, is yours" if kept.id in theirs and changes else ""


def _rank(entry: Entry, theirs: frozenset[str]) -> tuple[bool, int, int, int, str, str]:
    """Of two that say the same, the one with the lower rank stays: a person's, the weightier, the longer, the older."""
    memory = entry.memory
    words = len(memory.body.split())
    return (entry.id not in theirs, memory.layer, -memory.importance, -words, memory.created, memory.id)


def _say_it_alike(one: Memory, other: Memory) -> bool:
    """Whether the words of one are all among those of the other, in the same order, and all that tells two statements
    apart is the same in both: numbers, names, denials, limits, what is over or only thought of, who is meant."""
    left, right = sorted((list(_told(one.body)), list(_told(other.body))), key=len)
    rest = iter(right)
    in_order = all(any(word == beside for beside in rest) for word in left)
    return in_order and _marks(one.body) == _marks(other.body)


def _stands_in(one: Memory, other: Memory) -> bool:
    """Whether every sentence of one memory is one of the other's: a word more within it may limit what it says."""
    mine, yours = (
        {tuple(key for key in keys if key not in _LOOSE) for keys in _claimed(each.body)} for each in (one, other)
    )
    return mine <= yours


def _claimed(text: str) -> frozenset[tuple[str, ...]]:
    """The words of each sentence of a text, in their order."""
    return frozenset(sentence.keys for sentence in sentences(text))


def _told(text: str) -> Iterator[str]:
    for sentence in sentences(text):
        yield from (token.key for token in sentence.content)


def _marks(text: str) -> list[list[str]]:
    """The names and numbers of a text in their order, and its small words."""
    tokens = [token for sentence in sentences(text) for token in sentence.spoken]
    values = [token.key for token in tokens if token.is_value]
    return [values, sorted(token.key for token in tokens if token.kind == SMALL and token.key not in _LOOSE)]


LEAST_PARTS = 3
"""Two that share no word may well be a statement and its reason."""
LEAST_WORDS = 4
"""Of a part that can stand by itself: fewer only name something."""
MOST_PARTS, MOST_CHARACTERS = 20, 4_000
"""What is longer is a document, and no list of statements."""

_BULLET = re.compile(r"[-*+•][ \t]+(?=\S)")
_WHOLE = re.compile(r"^[ \t]*(?:```|~~~|\||#{1,6}[ \t]|>|\d+[.)][ \t])", re.MULTILINE)
"""A line that shows that the text is one: code, a table, sections, a quotation, steps."""
_POINTING = frozenset("there here these those same both former latter above below instead otherwise".split())
_NO_SUBJECT = frozenset(
    "note notes misc various several thing things learned learning lesson lessons fact facts session summary list tip "
    "tips detail details info information memory memories finding findings general other some and from about".split()
)
"""What a title may say that no part says: it names no subject that the parts would be without."""


def split_parts(memory: Memory) -> tuple[str, ...]:
    """The texts that a memory would become; none when it is one statement, or cannot safely be parted."""
    if memory.kind == "procedure" or len(memory.body) > MOST_CHARACTERS or _WHOLE.search(memory.body):
        return ()
    pieces = list(_pieces(memory.body))
    if not LEAST_PARTS <= len(pieces) <= MOST_PARTS or not all(map(_is_apart, pieces)):
        return ()
    told = [sentences(piece) for piece in pieces]
    ignored = {memory.project, *re.findall(r"\w+", memory.project)}
    subjects = [_subjects(each) - ignored for each in told]
    if _title_says_more(memory.title, set().union(*map(_stems, told), ignored)):
        return ()
    groups = _groups(told, subjects)
    texts = [_joined([pieces[place] for place in group]) for group in groups]
    stands = all(_stands_alone([told[place] for place in group]) for group in groups)
    return tuple(texts) if stands and len(texts) >= LEAST_PARTS else ()


def _pieces(body: str) -> Iterator[str]:
    """Its paragraphs; of a list each bullet, with what is indented below it."""
    for paragraph in re.split(r"\n[ \t]*\n", body.strip()):
        held: list[str] = []
        for line in paragraph.splitlines():
            if _BULLET.match(line) and held:
                yield "\n".join(held)
                held = []
            held.append(line)
        if held:
            yield "\n".join(held)


def _is_apart(piece: str) -> bool:
    """Whether it is a bullet that leads to nothing further, and points at nothing outside of it."""
    ends = piece.endswith((":", "："))
    return bool(_BULLET.match(piece)) and not ends and _POINTING.isdisjoint(re.findall(r"\w+", piece.lower()))


def _subjects(told: Sequence[Sentence]) -> set[str]:
    """The words that two parts about one thing would share."""
    return {token.key for sentence in told for token in sentence.content if token.is_telling}


def _stems(told: Sequence[Sentence]) -> set[str]:
    return {token.key for sentence in told for token in sentence.tokens}


def _title_says_more(title: str, said: set[str]) -> bool:
    """Whether the title names something that no part does: then it may be what they are all about."""
    return any(
        token.is_telling and token.key not in said and token.raw.casefold() not in _NO_SUBJECT
        for sentence in sentences(title)
        for token in sentence.content
    )


def _groups(told: Sequence[Sequence[Sentence]], subjects: Sequence[set[str]]) -> list[list[int]]:
    """The places of parts that belong together, in the order of the first of each."""
    home = list(range(len(told)))
    pairs = [pair for pair in combinations(home, 2) if subjects[pair[0]] & subjects[pair[1]]]
    pairs += [(place - 1, place) for place in home[1:] if not told[place] or told[place][0].goes_on]
    for one, other in pairs:
        first, second = sorted((home[one], home[other]))
        home = [first if at == second else at for at in home]
    return [[place for place, at in enumerate(home) if at == first] for first in sorted(set(home))]


def _stands_alone(told: Sequence[Sequence[Sentence]]) -> bool:
    """Whether it says something by itself: enough words, and it begins with no `it` or `this`."""
    words = sum(len(sentence.content) for part in told for sentence in part)
    return bool(told[0]) and not told[0][0].goes_on and words >= LEAST_WORDS


def _joined(pieces: Sequence[str]) -> str:
    """One piece without its bullet, or several as they were."""
    if len(pieces) == 1:
        return re.sub(r"\n[ \t]+", "\n", _BULLET.sub("", pieces[0], count=1) if _BULLET.match(pieces[0]) else pieces[0])
    return "\n".join(pieces) if all(_BULLET.match(piece) for piece in pieces) else "\n\n".join(pieces)
