"""Whether a text says what another one says in other words, and nothing else. Rather doubtful than wrong."""

import re

from memem.gate import invisible, secrets
from memem.gate.comparing import Statement, compare
from memem.gate.relation import CHANGED, OTHER

LEAST_SHARE = 0.75
"""Of the words of the new text, so many stand in the old one, but for the small ones that join them."""
_WORD = re.compile(r"[^\W_][\w./:@+-]*[^\W_]|[^\W_]")
_LITERAL = re.compile(r"[\d_./:@+-]|.[A-Z]|[^\x00-\x7f]")
_DENIALS = frozenset("no not never none without only cannot neither nor unless except must".split())
_WHEN = frozenset("before after until since always first last every all any more less than to from off on".split())
_UNDER = frozenset("before after until if when while in for at during on from".split())
"""What begins a condition, or a place that something holds for."""
_ASIDE = re.compile(r"[,;(]\s|\s\(|\s[-–—]+\s|\s(?:because|since|otherwise|so that)\s", re.IGNORECASE)
"""Where what is said ends, and a reason, a consequence or more of it begins: that may be left out."""
_DROPPED = frozenset("every always there been have having that this they them their which please really very".split())
_SENTENCE = re.compile(r"(?<=[^\W\d_])[.!?;:]\s+")
_MARKUP = re.compile(r"[\[\]<>`|#*]|https?://")
_SMALL = 3


def is_rewording(old: str, new: str) -> bool:
    """Whether a machine's `new` words may stand for the `old` ones: shorter, no literal or denial that is not there, no
    denial lost, no word lost of what is mainly said, nothing that comparing calls a change, and what the gate lets
    pass as it is."""
    if not new.strip() or len(new) > len(old) or _MARKUP.search(new) or not _may_pass(new):
        return False
    known = set(map(_folded, _WORD.findall(old)))
    words = set(map(_folded, _WORD.findall(new)))
    if {word for word in known if _is_denial(word)} != {word for word in words if _is_denial(word)}:
        return False
    if not known.issuperset(_WHEN & words) or any(_LITERAL.search(each) for each in _unknown(new, known)):
        return False
    if not _keeps_the_main_point(old, words):
        return False
    if not all(_is_of(sentence, known) for sentence in _SENTENCE.split(new)):
        return False
    return compare(Statement(old), Statement(new)).relation not in (CHANGED, OTHER)


def _is_of(sentence: str, known: set[str]) -> bool:
    """Whether most of the words that tell something are there already, in this form or another."""
    telling = [word for word in map(_folded, _WORD.findall(sentence)) if len(word) > _SMALL]
    beginnings = {word[:4] for word in known if len(word) > _SMALL}
    return sum(word in known or word[:4] in beginnings for word in telling) >= LEAST_SHARE * len(telling)


def _keeps_the_main_point(old: str, words: set[str]) -> bool:
    """Whether every word is kept that tells something before the first aside: one that is lost there may be a
    condition, or whom it is about."""
    beginnings = {word[:4] for word in words}
    said = map(_folded, _WORD.findall(_ASIDE.split(old, maxsplit=1)[0]))
    telling = [word for word in said if (len(word) > _SMALL or word in _UNDER) and word not in _DROPPED]
    return all(word in words or (len(word) > _SMALL and word[:4] in beginnings) for word in telling)


def _unknown(new: str, known: set[str]) -> list[str]:
    return [word for word in _WORD.findall(new) if _folded(word) not in known]


def _may_pass(text: str) -> bool:
    return invisible.neutralise(text)[1] == 0 and not secrets.redact(text)[1]


def _folded(word: str) -> str:
    return word.lower().rstrip(".")


def _is_denial(word: str) -> bool:
    return word in _DENIALS or word.endswith(("n't", "n’t"))
