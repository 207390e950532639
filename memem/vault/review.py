"""Proposals: notes in `memem/review/` that wait for a person's decision. They state a reason and are not recalled."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from memem.core.errors import NoteError
from memem.core.memory import QUARANTINED, Memory
from memem.vault import frontmatter, note
from memem.vault.copies import possible_originals
from memem.vault.note import Note
from memem.vault.store import Store

REASON = "review_because"
PROPOSED = QUARANTINED
_BECAUSE_LINE = re.compile(rf"^{REASON}:.*\r?\n", re.MULTILINE)


def path_for(store: Store, memory: Memory) -> str:
    return f"{store.paths.review.name}/{note.file_name(memory)}"


def new_text(memory: Memory, because: str) -> str:
    """Render the note of a proposal."""
    text = note.new_text(replace(memory, status=PROPOSED))
    return note.seal(frontmatter.patch(frontmatter.parse(text), {REASON: because}))


def accepted_text(proposal: Note) -> str:
    """Turn a proposal into an active note, without the reason, everything else unchanged."""
    text = note.rewrite_text(proposal, replace(proposal.memory, status="active"))
    head = frontmatter.parse(text).body_start
    text = _BECAUSE_LINE.sub("", text[:head], count=1) + text[head:]
    return text if proposal.touched_by_hand else note.seal(text)


def reason_of(proposal: Note) -> str:
    return proposal.document.one(REASON)


def count_proposals(store: Store) -> int:
    return len(_files(store))


def read_proposals(store: Store) -> Iterator[Note]:
    """Read the proposals in the order of their file names; skip unreadable ones."""
    for path in _files(store):
        try:
            yield store.read(f"{store.paths.review.name}/{path.name}")
        except NoteError:
            continue


def _files(store: Store) -> list[Path]:
    """List the proposals' files without copies made by a sync service."""
    found = {path.name: path for path in sorted(store.paths.review.glob("*.md"))}
    return [
        path for name, path in found.items() if not any(each.original in found for each in possible_originals(name))
    ]
