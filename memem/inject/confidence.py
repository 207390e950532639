"""Whether a memory is worth putting before Claude unasked. Silence is the default.

The evidence is weighed by a logistic regression; `python -m bench silence --fit` fits it, and prints the curve on which
the line in use is a point: off-topic prompts that fire against questions that are answered.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import NamedTuple

from memem.core.memory import Hit
from memem.search.query import SearchMatches

UNSURE = "it is not likely enough to help"
FOREIGN = "too much of the prompt is in no memory"
FEW_WORDS = "it shares too little with the prompt"
FAR_BEHIND = "it is too far behind the best"
LONGEST_QUESTION = 25
"""In words: a longer text that begins like a question and does not end like one is something else."""
ENOUGH_NOTES = 100
"""In a smaller vault most words of any prompt are unknown: `python -m bench silence --small` shows what regard to that
brings."""
LEAST_COVERAGE = 0.2
"""Where words decide alone, a memory must hold so much of the prompt: else 7 of our 24 prompts that only another
project could answer get one that shares a word or two; so it is 2, and no fewer of the others are answered."""
_ASKING = re.compile(
    r"""\W*(?:(?:and|but|so|ok|okay|also|hey|hi|wait|hmm)\W+)*
        (?:what|what's|whats|which|who|whose|when|where|why|how|did|does|has|do\ we|have\ we|is\ there|are\ there)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_ENDS_ASKING = re.compile(r"(?:[?？]|[吗嗎呢]|ですか|ますか|나요|까)[\s\"'”’)）。.]*\Z")


class Evidence(NamedTuple):
    """What speaks for a memory, or against it; `Weights` has how much each piece of it says.

    Of the memory: its cosine, how much of the prompt it covers, the logarithm of one more than the words they share,
    whether it holds a name, which is an identifier that few others hold, and whether it is about a file: 1 when the
    prompt names that, less when only its session was at it. Of the prompt: whether it is a question, the share of it
    that no memory holds, and whether an identifier is in that, when the memory holds no other.
    """

    always: float = 1.0
    cosine: float = 0.0
    coverage: float = 0.0
    words: float = 0.0
    name: float = 0.0
    file: float = 0.0
    question: float = 0.0
    unknown: float = 0.0
    unknown_name: float = 0.0


class Weights(Evidence):
    """The log odds that a unit of each piece of evidence adds.

    That of `file` is not fitted, since no set has files: it brings in what is about a file that the prompt names, if
    it has anything else to do with it.
    """


MEANING = Weights(
    always=-5.4, cosine=6.9, coverage=3.1, name=1.1, file=2.5, question=1.4, unknown=-1.8, unknown_name=-0.9
)
BY_WORDS = Weights(
    always=-3.1, coverage=2.7, words=0.8, name=1.2, file=2.5, question=1.6, unknown=-2.6, unknown_name=-1.0
)
"""Where meaning is not known: no model, or a script that it does not read. Shifted, so that one line serves both."""


@dataclass(frozen=True, slots=True)
class Line:
    """What a memory must reach to be shown: so likely to help, and such a part of the score of the best.

    A prompt of which more than `unknown` is in no memory gets nothing, unless a memory holds a name it asks for.
    """

    confidence: float
    score: float
    unknown: float


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a prompt says of itself: whether it asks something, and how much of it is in none of the `notes`."""

    question: bool
    unknown: float
    names_unknown: bool
    notes: int = ENOUGH_NOTES

    @property
    def foreign(self) -> float:
        """How much of it is unknown, as far as that says something: few notes know few words."""
        return self.unknown * min(1.0, self.notes / ENOUGH_NOTES)


def read(prompt: str, found: SearchMatches) -> Prompt:
    """What a prompt, and what was found for it, say of it."""
    return Prompt(is_question(prompt), found.unknown_share, found.names_unknown, found.notes)


def is_question(prompt: str) -> bool:
    """Whether a prompt asks: who asks wants to know, who orders mostly speaks of what is on the screen."""
    text = prompt.strip()
    if _ENDS_ASKING.search(text[-8:]):
        return True
    short = "\n" not in text and len(text.split(None, LONGEST_QUESTION)) <= LONGEST_QUESTION
    return short and _ASKING.match(text) is not None


def judged(hits: Sequence[Hit], prompt: Prompt) -> list[Hit]:
    """The hits, each with how likely it is to help with the prompt."""
    return [replace(hit, helps=round(_likely(hit, prompt), 4)) for hit in hits]


def sifted(hits: Sequence[Hit], prompt: Prompt, line: Line) -> list[Hit]:
    """The hits, those that may not be shown with the reason; each stands on its own."""
    marked = [replace(hit, kept_out=_too_weak(hit, prompt, line)) for hit in hits]
    least = line.score * max((hit.score for hit in marked if not hit.kept_out), default=0.0)
    return [replace(hit, kept_out=hit.kept_out or (FAR_BEHIND if hit.score < least else "")) for hit in marked]


def deserving(hits: Sequence[Hit], prompt: Prompt, line: Line) -> list[Hit]:
    """Those that may be shown, in their order."""
    return [hit for hit in sifted(hits, prompt, line) if not hit.kept_out]


def _too_weak(hit: Hit, prompt: Prompt, line: Line) -> str:
    if (hit.helps or 0.0) < line.confidence:
        return UNSURE
    if not hit.named and prompt.foreign > line.unknown:
        return FOREIGN
    if not hit.named and not by_meaning(hit) and hit.coverage < LEAST_COVERAGE:
        return FEW_WORDS
    return ""


def evidence(hit: Hit, prompt: Prompt) -> Evidence:
    """What there is for a memory and against it."""
    return Evidence(
        cosine=hit.cosine or 0.0,
        coverage=hit.coverage,
        words=math.log1p(len(hit.terms)),
        name=float(hit.named),
        file=hit.about_file,
        question=float(prompt.question),
        unknown=prompt.foreign if by_meaning(hit) else prompt.unknown,
        unknown_name=float(prompt.names_unknown and not hit.named),
    )


def by_meaning(hit: Hit) -> bool:
    """Whether the cosine of a hit says something."""
    return hit.understood and hit.cosine is not None


def _likely(hit: Hit, prompt: Prompt) -> float:
    weights = MEANING if by_meaning(hit) else BY_WORDS
    odds = math.fsum(map(mul, weights, evidence(hit, prompt)))
    return 1 / (1 + math.exp(-odds))
