"""Fuzz targets: every reader of foreign text, each with the properties that every input must satisfy.

Those that need a whole memory home are in `fuzz_homes.py`.
"""

import io
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from http.client import HTTPMessage
from pathlib import Path

from bench import fuzz_seeds as seeds
from bench.hunting import Broken, Target, Try
from memem.core import project, settings
from memem.core.conversation import HUMAN, Turn
from memem.core.errors import MememError, NoteError
from memem.core.home import Home
from memem.core.settings import stored_plugin_options
from memem.doors.engine import protocol
from memem.doors.engine.election import Leader
from memem.doors.engine.protocol import ProtocolError, Reply, Request
from memem.doors.hook import client
from memem.mine import confirm, prompt, rules
from memem.model import claude, connection, endpoint, errors, plugin
from memem.pages import markdown, playbook_page
from memem.safety.gate import clean_text
from memem.transcript import harness, session
from memem.transcript.deeds import DeedReader
from memem.transcript.digest import MAX_CHARS, digest
from memem.transfer import export_format
from memem.transfer.readers import chats, claude_mem, instructions, json_stream
from memem.upkeep import refine_playbook
from memem.vault import frontmatter, obsidian, page_text, tombstones
from memem.vault import note as notes
from memem.workspace import open_workspace

_NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)

Opened = Callable[[Path], AbstractContextManager[Try]]


def plainly(attempt: Try) -> Opened:
    """For what needs no folder."""

    @contextmanager
    def opened(_: Path) -> Iterator[Try]:
        yield attempt

    return opened


def in_folder(make: Callable[[Path], Try]) -> Opened:
    """For what reads a file."""

    @contextmanager
    def opened(folder: Path) -> Iterator[Try]:
        yield make(folder)

    return opened


def hold(condition: object, what: str) -> None:
    if not condition:
        raise Broken(what)


# --- transcripts ----------------------------------------------------------------------------------------------------


def _transcript(folder: Path) -> Try:
    path = folder / "s1.jsonl"

    def attempt(data: bytes) -> None:
        path.write_bytes(data)
        with path.open("rb") as file:
            found = list(session.steps(file, 0, "s1"))
            for step in found[:1]:
                cursor = session.cursor_at(file, step.end)
                hold(session.start_of(file, cursor) == step.end, "a cursor leads back to where it was made")
                rest = list(session.steps(file, step.end, "s1"))
                hold([each.end for each in rest] == [each.end for each in found if each.end > step.end], "steps go on")
        hold([each.end for each in found] == sorted({each.end for each in found}), "offsets grow")
        hold(all(each.end <= len(data) for each in found), "offsets are in the file")
        said = [step.line.turn for step in found if step.line.turn]
        json.dumps([turn.text for turn in said], ensure_ascii=False).encode()
        work = DeedReader(clean_text)
        deeds = [deed for step in found if step.line.work for deed in work.follow(step.line.work)]
        summary = digest([deed.seen_from(("/srv/shop",)) for deed in deeds])
        hold(len(summary) <= MAX_CHARS, "a digest is short")
        session.recent(path, unless="Always sign with RS256.")
        session.find_turn(path, "a1")
        rules.extract(said)

    return attempt


def _texts(data: bytes) -> None:
    """Functions that take any text."""
    text = data.decode("utf-8", "replace")
    harness.typed_text(text)
    harness.is_untyped(text)
    list(harness.slice_ids(text))
    list(instructions.statements(text))
    rules.extract([Turn("u", HUMAN, text)])
    project.normalise(text)


# --- notes ----------------------------------------------------------------------------------------------------------


def _note(data: bytes) -> None:
    with suppress(NoteError):
        note = notes.parse("memories/a-3f2c9a1e.md", data, "derived-id-0000")
        again = notes.parse(note.path, notes.new_text(note.memory).encode(), note.memory.id)
        written = notes.escape_evidence(note.memory.body).strip()
        hold(again.memory.body == written or "\r" in written, "a statement is read as written")
        _ = note.touched_by_hand, notes.file_name(note.memory)
        obsidian.find_violations(note.document.text, obsidian.VaultNames([]))
    text = data.decode("utf-8", "replace")
    page_text.get_own_lines(text)
    merged = markdown.merge_part(text, "## New\n\n- line")
    hold(markdown.merge_part(merged, "## New\n\n- line") == merged, "a page that is written twice is the same")
    kept = playbook_page.parse_page(text)
    playbook_page.render_part([], kept)
    playbook_page.render_without_lines(text)


_CHANGES: tuple[tuple[str, frontmatter.Value], ...] = (
    ("title", "Another title: with a colon # and a hash"),
    ("tags", ("a", "b c", "- d")),
    ("keys", ()),
    ("status", "stale"),
    ("related", ("[[x]]",)),
    ("fresh", "a new one\nover two lines\u2028and more"),
)


def _frontmatter(data: bytes) -> None:
    """One property is changed and nothing else, or the change is refused."""
    document = frontmatter.parse(data.decode())
    for key, value in _CHANGES:
        with suppress(NoteError):
            after = frontmatter.patch(document, {key: value})
            _only_changed(document, frontmatter.parse(after), key, value)


def _only_changed(
    before: frontmatter.Document, after: frontmatter.Document, key: str, value: frontmatter.Value
) -> None:
    entry = after.entries[key].value if value or key in after else ""
    wanted = list(value) if isinstance(value, tuple) else value
    hold((list(entry) if isinstance(wanted, list) else entry) == wanted or not value, "a property says what was asked")
    others = {name: each.value for name, each in before.entries.items() if name != key}
    hold(
        others == {name: each.value for name, each in after.entries.items() if name != key}, "others say what they said"
    )
    hold(before.body == after.body, "the body is the same")
    first = next((n for n, (a, b) in enumerate(zip(before.text, after.text, strict=False)) if a != b), None)
    if first is None:
        return
    tail = 0
    while tail < min(len(before.text), len(after.text)) - first and before.text[-1 - tail] == after.text[-1 - tail]:
        tail += 1
    gone = before.text[first : len(before.text) - tail]
    if key not in before:
        hold(not gone.strip("\r\n-"), "what is added takes nothing away")
        return
    start = before.text.rfind("\n", 0, before.entries[key].key_end) + 1
    rest = [each.key_end for each in before.entries.values() if each.key_end > before.entries[key].key_end]
    hold(start <= first, "nothing above a property is touched")
    hold(len(before.text) - tail <= min([*rest, before.head_end + 1]), "nothing below a property is touched")


# --- what others exported -------------------------------------------------------------------------------------------


def _json(data: bytes) -> None:
    for each in chats.conversations(json_stream.values(io.BytesIO(data))):
        json.dumps([turn.text for turn in each], ensure_ascii=False).encode()


def _export(data: bytes) -> None:
    values = json_stream.values(io.BytesIO(data))
    export_format.parse_header(next(values, None))
    for each in map(export_format.parse_element, values):
        if isinstance(each, export_format.PackedFile):
            hold(not each.path.startswith("/") and ".." not in Path(each.path).parts, "a path stays in the vault")


def _tombstones(data: bytes) -> None:
    known = tombstones.read_lines(data.splitlines())
    hash((known.standing, known.lifted))
    json.dumps([stone.key for stone in known.standing], ensure_ascii=False)


def _claude_mem(folder: Path) -> Try:
    path = folder / "claude-mem.db"

    def attempt(data: bytes) -> None:
        path.write_bytes(data)
        claude_mem.count(path)
        for item in claude_mem.items(path):
            item.memory.body.encode()
            item.memory.project.encode()

    return attempt


# --- the model's answer ---------------------------------------------------------------------------------------------


def _answer(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    result = claude._result(text)
    usage = claude._usage(result)
    hold((usage.dollars or 0) >= 0, "a price is one")
    problem = errors.explain(len(data) % 3, result, text, text, _NOW)
    errors.unknown_option(text)
    plugin.look_at_account(lambda *_: text)
    if problem:
        raise problem
    value = claude._value(result, text, usage)
    for parse in (prompt.parse_operations, confirm.parse_verdicts, refine_playbook.parse_lines):
        with suppress(MememError):
            json.dumps(list(map(repr, parse(value))), ensure_ascii=False).encode()


def _server_answer(folder: Path) -> Try:
    asked = endpoint.Endpoint("http://127.0.0.1:1/v1", "m", 1.0, "key", folder / "formats.json", lambda: _NOW)

    def attempt(data: bytes) -> None:
        asked.formats_file.write_bytes(data)
        hold(asked._load_format("m") in endpoint.FORMATS, "a remembered format is one")
        headers = HTTPMessage()
        headers["Retry-After"] = "".join(map(chr, data[:20])).replace("\r", "").replace("\n", "")
        for status in (200, 200 + len(data) % 400):
            with suppress(MememError):
                answer = asked._read_answer(connection.HttpReply(status, headers, data), "m")
                hold(answer.usage.dollars == 0, "a server reports no price")

    return attempt


# --- settings -------------------------------------------------------------------------------------------------------


def _settings(folder: Path) -> Try:
    home = Home(folder / "home")
    home.state.mkdir(parents=True)
    override = folder / project.OVERRIDE

    def attempt(data: bytes) -> None:
        override.write_bytes(data)
        home.plugin_options.write_bytes(data)
        home.config_file.write_bytes(data)
        told = stored_plugin_options(home)
        for work in (
            lambda: project.read_claim(folder, folder.parent),
            lambda: project.read_refusals(folder),
            lambda: settings.load({}, folder / "none", home.root, folder, plugin=told),
            lambda: open_workspace(actor="test", environ={"HOME": str(folder), "MEMEM_DIR": str(home.root)}),
        ):
            with suppress(MememError):
                work()

    return attempt


# --- the socket -----------------------------------------------------------------------------------------------------


def _protocol(data: bytes) -> None:
    for read in (protocol.read_request, protocol.read_reply):
        ours, theirs = socket.socketpair()
        with ours, theirs, suppress(ProtocolError):
            theirs.settimeout(1)
            threading.Thread(target=_send, args=(theirs, data), daemon=True).start()
            read(ours, time.monotonic() + 2)


def _send(line: socket.socket, data: bytes, *, and_leave: bool = True) -> None:
    with suppress(OSError):
        line.sendall(data)
        if and_leave:
            line.shutdown(socket.SHUT_WR)


@contextmanager
def _hostile_client(folder: Path) -> Iterator[Try]:
    """Send any bytes to the engine; the next client must still get an answer."""
    address = folder / "engine.sock"
    folder.chmod(0o700)
    told: list[str] = []
    leader = Leader(address, lambda request: Reply("done", request.body), log=told.append)
    thread = threading.Thread(target=leader.serve, args=(lambda: True,), daemon=True)
    thread.start()
    ping = protocol.encode_request(Request("hook", "Stop", {"cwd": "/"}, b"ping"))

    def attempt(data: bytes) -> None:
        answer = b""
        for sent in (data, ping):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
                line.settimeout(2)
                line.connect(str(address))
                _send(line, sent, and_leave=sent is data)
                answer = b""
                with suppress(ConnectionError):
                    while portion := line.recv(65_536):
                        answer += portion
        hold(answer == b"memem 1 done 4\nping", "the next one is answered")
        hold(not told, "nothing is logged of it")

    try:
        yield attempt
    finally:
        leader.stop()
        thread.join(2)
        leader.close()


@contextmanager
def _hostile_server(folder: Path) -> Iterator[Try]:
    """Answer a hook with any bytes; it must accept them as an answer or as none."""
    folder.chmod(0o700)
    address = str(folder / "engine.sock")
    answers: list[bytes] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen()

        def serve() -> None:
            with suppress(OSError):
                while True:
                    line, _ = listener.accept()
                    with line:
                        line.recv(65_536)
                        _send(line, answers[-1])

        threading.Thread(target=serve, daemon=True).start()

        def attempt(data: bytes) -> None:
            answers.append(data)
            with suppress(OSError, ValueError):  # as `ask_engine` does
                outcome, _ = client._exchange(address, b"memem 1 hook Stop 0 0\n")
                hold(outcome in ("done", "other", "failed"), "an outcome is one of ours")

        yield attempt


_YAML = (b"title: ", b"tags:\n", b"- x\n", b"  ", b": ", b"keys: [a]\n", b"'", b"|-\n", b">+2\n", b"# x\n", b"\xc2\xa0")
_JSON = (b'"type"', b'"user"', b'"content"', b'"text"', b'"role"', b'"id"', b"null", b"[]", b"{}", b"0", b'""', b"\n")
_WIRE = (
    b"memem 1 ",
    b"hook ",
    b"tool ",
    b"done ",
    b"other ",
    b"failed ",
    b"seconds=",
    b"\0",
    b"\n",
    b" 9999999",
    b"inf",
)

TARGETS = (
    Target("transcript", in_folder(_transcript), seeds.transcripts, _JSON),
    Target("texts", plainly(_texts), seeds.instructions),
    Target("note", plainly(_note), seeds.note_texts, _YAML),
    Target("frontmatter", plainly(_frontmatter), seeds.note_texts, _YAML, (MememError, UnicodeDecodeError)),
    Target("chats", plainly(_json), seeds.chats, _JSON),
    Target("export", plainly(_export), seeds.exported, _JSON),
    Target("tombstones", plainly(_tombstones), seeds.tombstones, _JSON),
    Target("claude-mem", in_folder(_claude_mem), seeds.databases),
    Target("answer", plainly(_answer), seeds.answers, _JSON),
    Target("server-answer", in_folder(_server_answer), seeds.server_answers, _JSON),
    Target("settings", in_folder(_settings), seeds.settings, (b"= ", b"[", b"]", b'"', b"true", b"'''", b"1.5")),
    Target("protocol", plainly(_protocol), seeds.requests, _WIRE),
    Target("hostile-client", _hostile_client, seeds.requests, _WIRE),
    Target("hostile-server", _hostile_server, seeds.requests, _WIRE),
)
