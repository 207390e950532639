"""A memory that says many things, each of which could stand by itself. In doubt it is one.

Only a list of bullets is parted: of paragraphs the first often says what all of them are about. Never a sentence, a
numbered list, code or a table. Parts that share a word belong together, and so does what refers to the part before it.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from memem.core.memory import Memory
from memem.gate.comparing.claims import Sentence, sentences
from memem.gate.comparing.wording import VERB

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


def parts(memory: Memory) -> tuple[str, ...]:
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
    return {token.stem for sentence in told for token in sentence.content if not token.is_generic}


def _stems(told: Sequence[Sentence]) -> set[str]:
    return {token.stem for sentence in told for token in sentence.tokens}


def _title_says_more(title: str, said: set[str]) -> bool:
    """Whether the title names something that no part does: then it may be what they are all about."""
    return any(
        token.stem not in said and token.low not in _NO_SUBJECT and token.role != VERB
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
