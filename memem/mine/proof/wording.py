"""Compare the words of a statement with a person's own: a quote alone does not show that it proves the statement."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from memem.compare.tokens import content_keys
from memem.core.conversation import HUMAN, Turn
from memem.core.trust import PROSE, Trust
from memem.mine.proof.origins import select_own_words

GENERAL_SHARE = 0.5  # of a general statement's words that the person said
_ENDING = re.compile(r"(?<=\w{2})(?:(.)\1)?(?:ings?|ed|er|en|es|e|s|ly)\Z")  # merge, merged, merging are one word
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_PART = re.compile(r"[^\W_]+")


def limit_by_wording(trust: Trust, statement: Sequence[str], turns: Iterable[Turn]) -> Trust:
    """Reduce the trust in a statement that has none, or for a general memory too few, of the person's own words."""
    if not trust.proven:
        return trust
    own = set(_list_stems(select_own_words(turn) for turn in turns if turn.role == HUMAN))
    stated = set(_list_stems(statement))
    shared = len(stated & own)
    if not shared:
        return PROSE
    return trust if shared >= GENERAL_SHARE * len(stated) else replace(trust, general=False)


def _list_stems(texts: Iterable[str]) -> Iterator[str]:
    """Yield the stems of the words that say something, and pairs of characters in scripts without spaces."""
    for text in texts:
        for run in _UNSPACED.findall(text):
            yield from (run[place : place + 2] for place in range(len(run) - 1))
        for key in content_keys(_UNSPACED.sub(" ", text)):
            yield from (_ENDING.sub(r"\1", part) for part in _PART.findall(key.casefold()))
