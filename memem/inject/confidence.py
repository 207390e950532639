"""Decide whether a memory is worth showing Claude unasked. Silence is the default.

A logistic regression weighs the evidence. `python -m bench silence --fit` fits it and prints the curve from which the
threshold was chosen: off-topic prompts that fire against questions that are answered.
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
FOREIGN = "no memory covers enough of the prompt"
FEW_WORDS = "it shares too little with the prompt"
FAR_BEHIND = "its score is too far below the best"
MAX_QUESTION_WORDS = 25  # a longer text that begins like a question, but does not end like one, is something else
ENOUGH_NOTES = 100  # a smaller vault lacks most words of any prompt; see `python -m bench silence --small`
# Where words decide alone: without it 7 of our 24 prompts that only another project could answer fire, with it 2.
MIN_COVERAGE = 0.2
_ASKING = re.compile(
    r"""\W*(?:(?:and|but|so|ok|okay|also|hey|hi|wait|hmm)\W+)*
        (?:what|what's|whats|which|who|whose|when|where|why|how|did|does|has|do\ we|have\ we|is\ there|are\ there)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_ENDS_ASKING = re.compile(r"(?:[?？]|[吗嗎呢]|ですか|ますか|나요|까)[\s\"'”’)）。.]*\Z")


class Evidence(NamedTuple):
    """Evidence for or against showing a memory for a prompt."""

    always: float = 1.0
    cosine: float = 0.0
    coverage: float = 0.0  # share of the prompt that the memory contains
    words: float = 0.0  # log(1 + number of shared words)
    name: float = 0.0  # the memory contains an identifier that is rare in the vault
    file: float = 0.0  # the memory is about a file: 1 if the prompt names it, less if only the session used it
    question: float = 0.0
    unknown: float = 0.0  # share of the prompt that no memory contains
    unknown_name: float = 0.0  # the prompt has an unknown identifier, and the memory contains no other


class EvidenceWeights(Evidence):
    """The log odds that one unit of each kind of evidence adds."""


# `file` is not fitted: it admits a memory about a file that the prompt names if anything else speaks for it.
MEANING = EvidenceWeights(
    always=-5.4, cosine=6.9, coverage=3.1, name=1.1, file=2.5, question=1.4, unknown=-1.8, unknown_name=-0.9
)
# Without a model, or in a script that it cannot read. Shifted so that one threshold serves both.
BY_WORDS = EvidenceWeights(
    always=-3.1, coverage=2.7, words=0.8, name=1.2, file=2.5, question=1.6, unknown=-2.6, unknown_name=-1.0
)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The requirements for showing a memory."""

    confidence: float
    score: float  # as a share of the best hit's
    unknown: float  # if more of a prompt is in no memory, only memories with an identifier it names are shown


@dataclass(frozen=True, slots=True)
class PromptFeatures:
    """Whether a prompt is a question, and the share of it that is in none of the `notes`."""

    question: bool
    unknown: float
    names_unknown: bool
    notes: int = ENOUGH_NOTES

    @property
    def foreign(self) -> float:
        """The unknown share, discounted for a small vault."""
        return self.unknown * min(1.0, self.notes / ENOUGH_NOTES)


def describe_prompt(prompt: str, found: SearchMatches) -> PromptFeatures:
    return PromptFeatures(is_question(prompt), found.unknown_share, found.names_unknown, found.notes)


def is_question(prompt: str) -> bool:
    text = prompt.strip()
    if _ENDS_ASKING.search(text[-8:]):
        return True
    is_short = "\n" not in text and len(text.split(None, MAX_QUESTION_WORDS)) <= MAX_QUESTION_WORDS
    return is_short and _ASKING.match(text) is not None


def rate_hits(hits: Sequence[Hit], prompt: PromptFeatures) -> list[Hit]:
    """Return the hits with the probability that each helps with the prompt."""
    rated = []
    for hit in hits:
        log_odds = math.fsum(map(mul, MEANING if has_meaning(hit) else BY_WORDS, evidence(hit, prompt)))
        rated.append(replace(hit, helps=round(1 / (1 + math.exp(-log_odds)), 4)))
    return rated


def apply_thresholds(hits: Sequence[Hit], prompt: PromptFeatures, limits: Thresholds) -> list[Hit]:
    """Return all hits; those below a threshold have the reason in `kept_out`."""
    marked = [replace(hit, kept_out=_weakness(hit, prompt, limits)) for hit in hits]
    min_score = limits.score * max((hit.score for hit in marked if not hit.kept_out), default=0.0)
    return [replace(hit, kept_out=hit.kept_out or (FAR_BEHIND if hit.score < min_score else "")) for hit in marked]


def _weakness(hit: Hit, prompt: PromptFeatures, limits: Thresholds) -> str:
    if (hit.helps or 0.0) < limits.confidence:
        return UNSURE
    if not hit.named and prompt.foreign > limits.unknown:
        return FOREIGN
    if not hit.named and not has_meaning(hit) and hit.coverage < MIN_COVERAGE:
        return FEW_WORDS
    return ""


def evidence(hit: Hit, prompt: PromptFeatures) -> Evidence:
    return Evidence(
        cosine=hit.cosine or 0.0,
        coverage=hit.coverage,
        words=math.log1p(len(hit.terms)),
        name=float(hit.named),
        file=hit.about_file,
        question=float(prompt.question),
        unknown=prompt.foreign if has_meaning(hit) else prompt.unknown,
        unknown_name=float(prompt.names_unknown and not hit.named),
    )


def has_meaning(hit: Hit) -> bool:
    """Whether the hit's cosine can be trusted."""
    return hit.understood and hit.cosine is not None
