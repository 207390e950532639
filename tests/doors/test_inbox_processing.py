"""Events left by hooks are processed one by one, and none is missed."""

import os

import pytest

from memem.doors.hook import command
from memem.workspace import Workspace


def test_an_event_that_arrives_during_processing_is_processed_too(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ws.home.inbox
    folder.mkdir(parents=True)
    letter = folder / "1a2b3c4d-s1-Stop.json"
    letter.write_bytes(b"first")
    read = []

    def note(_: Workspace, __: str, envelope: bytes, ___: object) -> bool:
        read.append(envelope)
        if envelope == b"first":
            new = folder / "hook-1.json"
            new.write_bytes(b"second")
            new.rename(letter)  # as a hook does, which finds the lock held
        return True

    monkeypatch.setattr(command, "_mark", note)
    monkeypatch.setattr(command, "_judge", lambda *_: None)
    monkeypatch.setattr(command, "LOCK_DESCRIPTOR", os.open(folder / "1a2b3c4d.lock", os.O_RDWR | os.O_CREAT))
    command.process_inbox(ws, "1a2b3c4d")
    assert read == [b"first", b"second"]
    assert not letter.exists()
