"""Redact turns and the work between them before a model is sent anything."""

from dataclasses import replace

from memem.core.conversation import Turn
from memem.safety.gate import clean_text
from memem.transcript.turns import LONGEST_ITEM, Work


def redact_turn(turn: Turn) -> Turn:
    """A turn without secrets, also in the names of its folder and branch."""
    text, cwd, branch = map(clean_text, (turn.text, turn.cwd, turn.branch))
    return replace(turn, text=text, cwd=cwd, branch=branch)


def redact_work(work: Work) -> Work:
    return Work(*(tuple(map(_redact_item, items)) for items in (work.files, work.commands, work.errors)))


def _redact_item(item: str) -> str:
    """An item may have been cut within a secret, which is then not recognised: its last word goes."""
    text = clean_text(item)
    return text.rpartition(" ")[0] if len(item) >= LONGEST_ITEM else text
