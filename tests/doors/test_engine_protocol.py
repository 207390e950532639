"""Messages on the socket: read as they were sent, or refused, whatever the bytes."""

import os
import socket
import time
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.home import socket_address as address
from memem.doors.engine import protocol
from memem.doors.engine.protocol import ProtocolError, Reply, Request
from tests.engines import LONG, asking

NAMES = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", min_size=1, max_size=64)
VALUES = st.binary(max_size=60).map(lambda raw: os.fsdecode(raw.replace(b"\0", b"")))
FACTS = st.dictionaries(NAMES.filter(lambda name: name != "seconds"), VALUES, max_size=5)


def received(data: bytes, read: str = "read_request") -> object:
    """Read these bytes from a connection that is closed after them."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        return getattr(protocol, read)(ours, time.monotonic() + LONG)


@given(st.sampled_from(["hook", "tool"]), NAMES, FACTS, st.binary(max_size=2_000))
def test_a_request_is_read_as_it_was_written(kind: str, name: str, facts: dict[str, str], body: bytes) -> None:
    request = Request(kind, name, facts, body)
    assert received(protocol.encode_request(request)) == request


@given(st.sampled_from(["done", "other", "failed"]), st.binary(max_size=2_000))
def test_a_reply_is_read_as_it_was_written(outcome: str, body: bytes) -> None:
    assert received(protocol.encode_reply(Reply(outcome, body)), "read_reply") == Reply(outcome, body)


@given(
    st.one_of(
        st.binary(max_size=400),
        st.binary(max_size=60).map(lambda rest: b"memem 1 hook Stop 9 9\n" + rest),
        st.from_regex(rb"memem 1 (hook|tool) [a-z]{1,70} [0-9]{1,9} [0-9]{1,9}\n(seconds=[0-9naife+-]*\x00)?"),
    )
)
def test_random_bytes_are_a_request_or_refused(data: bytes) -> None:
    for read in ("read_request", "read_reply"):
        try:
            found = received(data, read)
        except ProtocolError:
            continue
        assert isinstance(found, Request | Reply)


@given(st.data())
def test_no_beginning_of_a_request_is_taken_for_one(data: st.DataObject) -> None:
    whole = protocol.encode_request(asking("search", b"how do we sign tokens", HOME="/srv/shop"))
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(ProtocolError):
        received(whole[:cut])


@pytest.mark.parametrize(
    "data",
    [
        b"memem 2 hook Stop 0 0\n",
        b"memem 1 grab Stop 0 0\n",
        b"memem 1 hook St0p 0 0\n",
        b"memem 1 hook Stop 0\n",
        b"memem 1 hook Stop -1 0\n",
        b"memem 1 hook Stop 65537 0\n" + bytes(65_537),
        b"memem 1 hook Stop 0 4194305\n",
        b"memem 1 hook Stop 3 0\nA=b",
        b"memem 1 hook Stop 2 0\n=\0",
        b"memem 1 hook Stop 12 0\nseconds=nan\0",
        b"memem 1 hook Stop 12 0\nseconds=ten\0",
        b"x" * 1_000,
    ],
)
def test_invalid_requests_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        received(data)


@pytest.mark.parametrize(
    "request_",
    [
        asking("two words"),
        asking("größe"),
        asking(body=bytes(protocol.MOST_BODY + 1)),
        asking(HOME="x" * protocol.MOST_FACTS),
        asking(HOME="a\0b"),
        asking(HOME="a\0PATH=b"),
        asking(HOME="\ud800"),
        asking(seconds="soon"),
        Request("tool", "ping", {"no name": "x"}, b""),
    ],
    ids=[
        "a space",
        "not ASCII",
        "body",
        "facts",
        "NUL",
        "another fact",
        "half a character",
        "seconds",
        "a fact's name",
    ],
)
def test_requests_the_peer_would_refuse_are_not_sent(request_: Request) -> None:
    with pytest.raises(ProtocolError):
        protocol.encode_request(request_)


def test_the_largest_reply_is_sent_and_a_larger_one_is_not() -> None:
    assert len(protocol.encode_reply(Reply("done", bytes(protocol.MOST_REPLY)))) > protocol.MOST_REPLY
    with pytest.raises(ProtocolError):
        protocol.encode_reply(Reply("done", bytes(protocol.MOST_REPLY + 1)))


def test_a_reply_is_of_a_known_outcome() -> None:
    with pytest.raises(ProtocolError):
        protocol.encode_reply(Reply("perhaps"))


def test_facts_are_bytes_of_the_file_system() -> None:
    name = os.fsdecode(b"/srv/\xff\xfe shop")
    request = received(b"memem 1 hook Stop 17 0\ncwd=/srv/\xff\xfe shop\0")
    assert isinstance(request, Request)
    assert request.facts == {"cwd": name}


def test_how_long_the_asker_waits_is_a_number_or_unknown() -> None:
    assert asking(seconds="1.5").seconds == 1.5
    assert asking().seconds is None


def test_reading_from_a_silent_peer_ends_at_the_deadline() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(ProtocolError):
        protocol.read_request(ours, time.monotonic() + 0.01)


def test_after_the_deadline_nothing_is_read_or_sent() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"memem 1 hook Stop 0 0\n")
        with pytest.raises(ProtocolError):
            protocol.read_request(ours, time.monotonic() - 1)
        with pytest.raises(ProtocolError):
            protocol.send(ours, b"memem 1 done 0\n", time.monotonic() - 1)


def test_sending_to_a_stuck_peer_ends_at_the_deadline() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(ProtocolError):
        protocol.send(ours, bytes(protocol.MOST_BODY), time.monotonic() + 0.05)


def test_an_asker_that_has_closed_is_gone_and_one_that_waits_is_not() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            assert not protocol.is_gone(ours)
        assert protocol.is_gone(ours)
    assert protocol.is_gone(ours)


def test_the_socket_is_in_the_run_folder() -> None:
    assert address(Path("/home/ada/.memem/run"), "/run/user/1000", 1000) == Path("/home/ada/.memem/run/engine.sock")


def test_a_path_too_long_for_a_socket_becomes_a_short_name_in_the_runtime_folder() -> None:
    run = Path("/home/ada", "ä" * 45, "run")
    name = f"memem-{zlib.crc32(os.fsencode(run / 'engine.sock')):08x}.sock"
    assert address(run, "/run/user/1000", 1000) == Path("/run/user/1000", name)
    assert address(run, "", 1000) == Path("/tmp/memem-1000", name)  # noqa: S108 - as it is called


@pytest.mark.parametrize(("length", "is_usual"), [(100, True), (101, False)])
def test_the_limit_counts_bytes(length: int, is_usual: bool) -> None:
    run = Path("/" + "x" * (length - len("//engine.sock")))
    assert (address(run, "", 7).name == "engine.sock") is is_usual


@pytest.mark.parametrize("seconds", ["inf", "-inf", "1e308", "86401", "9" * 400])
def test_every_wait_has_a_limit(seconds: str) -> None:
    with pytest.raises(ProtocolError):
        protocol.encode_request(asking(seconds=seconds))
