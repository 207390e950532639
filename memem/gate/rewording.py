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
_SENTENCE = re.compile(r"(?<=[^\W\d_])[.!?;:]\s+")
_MARKUP = re.compile(r"[\[\]<>`|#*]|https?://")
_SMALL = 3


def is_rewording(old: str, new: str) -> bool:
    """Whether a machine's `new` words may stand for the `old` ones: shorter, no literal or denial that is not there, no
    denial lost, nothing that comparing calls a change, and what the gate lets pass as it is."""
    if not new.strip() or len(new) > len(old) or _MARKUP.search(new) or not _may_pass(new):
        return False
    known = set(map(_folded, _WORD.findall(old)))
    words = set(map(_folded, _WORD.findall(new)))
    if {word for word in known if _is_denial(word)} != {word for word in words if _is_denial(word)}:
        return False
    if not known.issuperset(_WHEN & words) or any(_LITERAL.search(each) for each in _unknown(new, known)):
        return False
    if not all(_is_of(sentence, known) for sentence in _SENTENCE.split(new)):
        return False
    return compare(Statement(old), Statement(new)).relation not in (CHANGED, OTHER)


def _is_of(sentence: str, known: set[str]) -> bool:
    """Whether most of the words that tell something are there already, in this form or another."""
    telling = [word for word in map(_folded, _WORD.findall(sentence)) if len(word) > _SMALL]
    beginnings = {word[:4] for word in known if len(word) > _SMALL}
    return sum(word in known or word[:4] in beginnings for word in telling) >= LEAST_SHARE * len(telling)


def _unknown(new: str, known: set[str]) -> list[str]:
    return [word for word in _WORD.findall(new) if _folded(word) not in known]


def _may_pass(text: str) -> bool:
    return invisible.neutralise(text)[1] == 0 and not secrets.redact(text)[1]


def _folded(word: str) -> str:
    return word.lower().rstrip(".")


def _is_denial(word: str) -> bool:
    return word in _DENIALS or word.endswith(("n't", "n’t"))
