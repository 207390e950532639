"""`memem/.reviewed.jsonl`: a person's verdicts on notes that read like instructions. Lines are added, never changed.

A sync can bring lines from anywhere. So an acceptance counts only with a signature by this home's own key; rejections
and withdrawals only hide a note, and count from everywhere. It counts for the project, kind and layer that the note
had; earlier versions did not record them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.errors import HomeError, NoteError, VaultUnwritable
from memem.core.files import Stamp, from_json
from memem.core.memory import ID8, Memory
from memem.vault.store import read_file_lines

if TYPE_CHECKING:
    from memem.workspace import Workspace

VERDICTS_META = "reviewed"  # the index stores the stamp of the file under this name
ACCEPTED, REJECTED, WAITING = "accepted", "rejected", "waiting"
KEY_BYTES = 32


def verdicts_stamp(ws: Workspace) -> str:
    """The stamps of the file and of the key as text; empty while there is no file."""
    found = files.stamp(ws.store.paths.reviewed)
    return "-".join(map(str, chain(found, files.stamp(ws.home.review_key) or (0,)))) if found else ""


def verdict_on(ws: Workspace, memory: Memory) -> str:
    """A person's verdict on these words: accepted, rejected, or waiting."""
    return _find_last(ws, memory)[0]


def is_accepted_elsewhere(ws: Workspace, memory: Memory) -> bool:
    """Tell whether these words wait although the file has an acceptance, which this home has not signed."""
    word, _, elsewhere = _find_last(ws, memory)
    return word == WAITING and elsewhere


def record_verdict(ws: Workspace, memory: Memory, word: str, time: str) -> None:
    """Record that a person accepts or rejects these words, or takes that back (waiting)."""
    key = ensure_key(ws) if word == ACCEPTED else b""
    before, recorded, _ = _find_last(ws, memory)
    # An earlier verdict may have come from a clock that was ahead.
    verdict = _Verdict(max(time, recorded), hash_words(memory), word, _hash_claims(memory) if word == ACCEPTED else "")
    line = _render_line(verdict, key)
    try:
        files.append_line(ws.store.paths.reviewed, line, fsync=ws.settings.fsync)
        if before == ACCEPTED != word:
            _renew_key(ws)
    except OSError as error:
        raise VaultUnwritable(
            f"Cannot write {ws.store.paths.reviewed}: {files.reason(error)}. Your decision was not saved."
        ) from None


def _renew_key(ws: Workspace) -> None:
    """Sign the acceptances that still count with a new key, so that an old copy of the file brings none back."""
    path, key = ws.store.paths.reviewed, os.urandom(KEY_BYTES)
    stamp = files.stamp(path)
    counting = _gather_verdicts(path, stamp) if stamp else {}
    before = _read_key(ws)
    lines = [
        _render_line(each, key)
        for verdicts in counting.values()
        for each in verdicts
        if _is_valid_acceptance(each, before)
    ]
    if lines:
        files.append_line(path, b"\n".join(lines), fsync=ws.settings.fsync)
    files.write_atomic(ws.home.review_key, key, fsync=ws.settings.fsync, mode=files.PRIVATE_FILE)


def _is_valid_acceptance(verdict: _Verdict, key: bytes) -> bool:
    return verdict.word == ACCEPTED and verdict.is_signed(key)


def hash_words(memory: Memory) -> str:
    """Hash all words of a memory that are shown."""
    from hashlib import blake2b

    words = json.dumps((memory.title, memory.body, memory.evidence, *memory.keys, *memory.tags, *memory.paths))
    return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16, person=b"memem reviewed").hexdigest()


def _hash_claims(memory: Memory) -> str:
    """Hash the properties that decide where a memory is shown: an acceptance counts only for one project."""
    from hashlib import blake2b

    claims = json.dumps((memory.project, memory.kind, memory.layer))
    return blake2b(claims.encode("utf-8", "surrogatepass"), digest_size=16, person=b"memem claims").hexdigest()


def ensure_key(ws: Workspace) -> bytes:
    """Return the key, created once for this home. Raises HomeError."""
    sign_earlier(ws, always=True)
    if key := _read_key(ws):
        return key
    raise HomeError(f"Cannot create {ws.home.review_key}, which signs your decisions. Nothing was accepted.")


def sign_earlier(ws: Workspace, *, always: bool = False) -> None:
    """Create the key, if the file has acceptances or `always`, and sign those that this home's own log proves.

    Earlier versions did not sign. The lines are added before the key exists: a process that is killed in between, or
    loses the race for the key, leaves lines that nobody counts, and the next one starts again.
    """
    path = ws.store.paths.reviewed
    if _read_key(ws):
        return
    latest = {each.words: each for each in _read_lines(path)} if path.exists() else {}
    accepted = {words: each for words, each in latest.items() if each.word == ACCEPTED}
    if not accepted and not always:
        return
    key = os.urandom(KEY_BYTES)
    proven = sorted(accepted.keys() & set(_hash_accepted(ws))) if accepted else []
    with suppress(OSError):
        if proven:
            lines = b"\n".join(_render_line(replace(accepted[words], claims=""), key) for words in proven)
            files.append_line(path, lines, fsync=ws.settings.fsync)
        files.make_private_folder(ws.home.state)
        if files.stamp(ws.home.review_key):  # it is damaged
            files.write_atomic(ws.home.review_key, key, fsync=ws.settings.fsync, mode=files.PRIVATE_FILE)
        else:
            files.create_once(ws.home.review_key, key, fsync=ws.settings.fsync)


def _hash_accepted(ws: Workspace) -> Iterator[str]:
    """Hash the words of notes that a person let in through this home, by its event log, as far as their bytes exist."""
    from memem.safety.gate import cleanse
    from memem.state.batches import ALLOW, IMPORT
    from memem.vault import note as notes

    vault, let_in = ws.store.vault_id(), dict[str, tuple[str, str]]()
    for event in ws.events.read():
        is_here = event.vault in ("", vault) and event.what != IMPORT
        # memem may have rewritten the bytes later, which leaves the words.
        if event.after and ((is_here and event.action in (ALLOW, "accept", "save")) or event.before in let_in):
            let_in[event.after] = (event.id, event.path)
    by_id = dict[str, list[str]]()
    for each in ws.store.paths.ours.rglob("*.md") if let_in else ():
        by_id.setdefault(each.stem[-ID8:], []).append(each.relative_to(ws.store.paths.ours).as_posix())
    for digest, (identity, path) in let_in.items():
        places = [path, *by_id.get(identity[:ID8], ())]
        versions = chain([ws.events.read_undo(digest)], (ws.store.current_bytes(place) for place in places))
        data = next((data for data in versions if data is not None and notes.digest(data) == digest), None)
        with suppress(NoteError):
            if data is not None:
                yield hash_words(cleanse(notes.parse(path, data, identity).memory).memory)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """A line of the file; an acceptance without `claims` is an earlier version's and counts for all."""

    time: str
    words: str
    word: str
    claims: str = ""
    signature: str = ""

    def is_signed(self, key: bytes) -> bool:
        return bool(key) and self.signature == _sign(key, self)


def _render_line(verdict: _Verdict, key: bytes) -> bytes:
    line = {"of": verdict.words, "said": verdict.word, "time": verdict.time}
    if verdict.claims:
        line["as"] = verdict.claims
    if key:
        line["by"] = _sign(key, verdict)
    return json.dumps(line, separators=(",", ":")).encode()


def _sign(key: bytes, verdict: _Verdict) -> str:
    from hashlib import blake2b

    parts = [verdict.words, verdict.word, verdict.time, *([verdict.claims] if verdict.claims else [])]
    data = json.dumps(parts).encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=16, key=key, person=b"memem reviewed").hexdigest()


def _find_last(ws: Workspace, memory: Memory) -> tuple[str, str, bool]:
    """The last verdict that counts, its time, and whether somebody else has accepted the words since."""
    path, claims = ws.store.paths.reviewed, _hash_claims(memory)
    stamp, key = files.stamp(path), _read_key(ws)
    word, time, elsewhere = WAITING, "", False
    for each in _gather_verdicts(path, stamp).get(hash_words(memory), ()) if stamp else ():
        if each.word == ACCEPTED and not each.is_signed(key):
            elsewhere = True
            continue
        time = each.time
        if each.word != ACCEPTED or each.claims in ("", claims):
            word, elsewhere = each.word, False
    return word, time, elsewhere


@lru_cache(maxsize=4)
def _gather_verdicts(path: Path, stamp: Stamp) -> dict[str, list[_Verdict]]:
    """Map words to the last rejection or withdrawal and all acceptances after it, oldest first."""
    del stamp  # part of the cache key
    found = dict[str, list[_Verdict]]()
    for each in _read_lines(path):
        if each.word == ACCEPTED:
            found.setdefault(each.words, []).append(each)
        else:
            found[each.words] = [each]
    return found


def _read_lines(path: Path) -> list[_Verdict]:
    """Read verdicts, the oldest first; a sync may have merged the lines of two machines."""
    verdicts = []
    for line in read_file_lines(path):
        with suppress(ValueError, TypeError, KeyError):  # it is torn, or not understood
            read = from_json(line)
            if read["said"] in (ACCEPTED, REJECTED, WAITING):
                more = (str(read.get("as", "")), str(read.get("by", "")))
                verdicts.append(_Verdict(str(read["time"]), str(read["of"]), str(read["said"]), *more))
    return sorted(verdicts, key=attrgetter("time"))


def _read_key(ws: Workspace) -> bytes:
    """Read this home's key; empty if there is none, or if it is damaged. Raises HomeError if it cannot be read now."""
    found = files.stamp(ws.home.review_key)
    return _load_key(ws.home.review_key, found) if found else b""


@lru_cache(maxsize=4)
def _load_key(path: Path, stamp: Stamp) -> bytes:
    del stamp  # part of the cache key
    try:
        key = path.read_bytes()
    except OSError as error:
        raise HomeError(f"Cannot read {path}: {files.reason(error)}.") from None
    return key if len(key) == KEY_BYTES else b""
