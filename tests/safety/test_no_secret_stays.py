"""A secret that memem takes in, by whichever door, stands nowhere afterwards: not in its home, not in the vault, and
not in what a model was sent. What a person wrote into a file of their own stays there, and is recalled without it."""

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from memem.core.conversation import ADD, Operation
from memem.core.errors import MememError
from memem.doors import cli
from memem.doors.api.home import MemoryHome
from memem.doors.hook import answers, client, command
from memem.doors.mcp import tools
from memem.inject import slice
from memem.mine import prompt, schedule
from memem.notes import forget, review, save, undo, write
from memem.pages import refresh as pages_refresh
from memem.search import find, refresh
from memem.search.transcripts import consent, sessions
from memem.transcript.deeds import MAX_TARGET_CHARS
from memem.transfer import import_
from memem.upkeep import session_start, status
from memem.workspace import Workspace
from tests import fake_claude
from tests.foreign import CLAUDE_MEM
from tests.transcripts import AT_LENGTH, SHOP, Transcript

# Put together at run time, so that no scanner takes this file for a leak. The letters in the middle are the canary:
# whatever splits words, or folds their case, leaves them together.
TOKEN, PASSWORD, ASSIGNED = "ghp_" + "4zqxjkvw7" * 4, "9wvkjxqz2", "8jxqkzwv3"
CANARY = re.compile(rb"zqxjkvw|wvkjxqz|jxqkzwv", re.IGNORECASE)
SECRET = f"the key is {TOKEN} for postgres://app:{PASSWORD}@db/shop with DB_PASSWORD={ASSIGNED}"
PLAIN = "Deploys run from the release branch only"
STATEMENT = f"{PLAIN}, where {SECRET} is used."


@dataclass
class Place:
    """A home that asks a claude, and all that somebody needs to bring something in."""

    ws: Workspace
    folder: Path
    claude: Path
    errors: Callable[[], str]
    """Return the messages so far; for a background process, its log."""
    own: list[Path] = field(default_factory=list)
    """Files that a person wrote themselves."""

    def session(self, name: str = "s1", cwd: str = str(SHOP)) -> Transcript:
        path = self.folder / "user" / ".claude" / "projects" / "-srv-shop" / f"{name}.jsonl"
        return Transcript(path, cwd=cwd, start=self.ws.clock())

    def file(self, name: str, text: str) -> Path:
        path = self.folder / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def answers(self, *steps: dict[str, Any]) -> None:
        fake_claude.set_steps(self.claude, steps)

    def leaks(self) -> list[str]:
        """Where a canary stands, by the path of the file or the part of the call."""
        folders = (self.ws.home.root, self.ws.settings.vault)
        paths = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
        told = {str(path): path.read_bytes() for path in paths if path not in self.own}
        names = {f"the name of {path}": str(path.relative_to(self.folder)).encode() for path in paths}
        for number, call in enumerate(fake_claude.calls(self.claude, questions=True)):
            told |= {f"call {number}: {part}": json.dumps(call[part]).encode() for part in ("argv", "stdin", "env")}
        told |= names | {"standard error": self.errors().encode()}
        found = [(where, data, CANARY.search(data)) for where, data in told.items()]
        return [f"{where}: {data[max(0, at.start() - 80) : at.end()]!r}" for where, data, at in found if at]


@pytest.fixture
def place(
    miner: Workspace, tmp_path: Path, claude: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Place:
    monkeypatch.setenv("MEMEM_DIR", str(miner.home.root))
    monkeypatch.setenv("MEMEM_OBSIDIAN_VAULT", str(miner.settings.vault))
    consent.opt_in(miner)
    save.save(miner, "The staging database of the shop is restarted on Sundays.", project="shop")
    return Place(miner, tmp_path, claude, lambda: capfd.readouterr().err)


def operation(text: str = STATEMENT, quote: str = PLAIN, **more: Any) -> dict[str, Any]:
    given = {"title": f"Deploys {SECRET}", "keys": (TOKEN,), "paths": (f"src/{TOKEN}/*.py",)} | more
    made = Operation(ADD, None, given["title"], text, "fact", "project", 3, given["keys"], given["paths"], quote)
    return prompt.operations_as_json([made])[0]


# --- what is saved --------------------------------------------------------------------------------------------------


def by_save(place: Place) -> None:
    save.save(place.ws, STATEMENT, project="shop")


def by_fields(place: Place) -> None:
    given: dict[str, Any] = {"title": f"Deploys, {SECRET}", "tags": (TOKEN,), "keys": (f"DB_PASSWORD={ASSIGNED}",)}
    save.save(place.ws, f"{PLAIN}.", project="shop", paths=(f"src/{TOKEN}/a.py",), **given)


def by_project(place: Place) -> None:
    save.save(place.ws, f"{PLAIN}.", project=f"shop {TOKEN}")


def by_edit(place: Place) -> None:
    written = save.save(place.ws, f"{PLAIN}.", project="shop")
    write.edit(place.ws, written.memory.id, body=STATEMENT, title=f"Deploys {TOKEN}", tags=(TOKEN,))
    undo.undo(place.ws)


def by_title(place: Place) -> None:
    """A secret where a title, which is taken from the text, ends."""
    for before in range(30, 90, 6):
        save.save(place.ws, f"{'Word ' * (before // 5)}{TOKEN} {'word ' * 20}", project=f"p{before}")


def by_cli(place: Place) -> None:
    cli.main(["save", STATEMENT, "-p", "shop", "--title", f"Deploys {TOKEN}", "--keys", TOKEN, "--why", SECRET])
    cli.main(["search", STATEMENT])
    cli.main(["get", TOKEN])
    cli.main(["config", TOKEN, TOKEN])
    cli.main(["mine", "--session", f"/srv/{TOKEN}.jsonl"])


def by_reason(place: Place) -> None:
    written = save.save(place.ws, f"{PLAIN}.", project="shop")
    forget.forget(place.ws, written.memory.id, why=f"it said {SECRET}")


def by_python(place: Place) -> None:
    mem = MemoryHome(place.ws)
    saved = mem.save(STATEMENT, project="shop", kind="decision", tags=[TOKEN], keys=[TOKEN])
    mem.search(STATEMENT)
    mem.slice(STATEMENT, project="shop", session_id="s9")
    mem.forget(saved.memory.id)


# --- what is mined --------------------------------------------------------------------------------------------------


def by_session(place: Place) -> None:
    session = place.session()
    session.human(f"FACT-one: {STATEMENT}\n{AT_LENGTH}")
    session.claude(f"I use {SECRET} for that.")
    session.tool(
        "Bash", command=f"curl -H 'Authorization: Bearer {TOKEN}' https://api && export DB_PASSWORD={ASSIGNED}"
    )
    session.tool_succeeded()
    session.tool("Write", file_path=f"/srv/shop/{TOKEN}/config.py")
    session.tool_succeeded()
    session.tool("Bash", command="make deploy")
    session.tool_failed(f"fatal: cannot read postgres://app:{PASSWORD}@db/shop\n{SECRET}")
    session.human(f"And once more: {SECRET}. {AT_LENGTH}", gitBranch=f"fix/{TOKEN}")
    schedule.mine_file(place.ws, session.path)
    sessions.index_session(place.ws, session.path, everything=True)
    assert find.search(place.ws, "deploys release branch", project="shop"), "the rest of it is kept"


def by_unseen_letters(place: Place) -> None:
    session = place.session()
    hidden = "\u200b".join(TOKEN)
    session.human(f"FACT-one: {PLAIN}, with {hidden}\n{AT_LENGTH}")
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in TOKEN)
    session.human(f"FACT-two: {PLAIN}, with {wide}\n{AT_LENGTH}")
    session.human(f"FACT-three: {PLAIN}, with {TOKEN[:20]}\n{TOKEN[20:]}\n{AT_LENGTH}")
    session.human(f"FACT-four: {PLAIN}, with {TOKEN[:8]}\x1b[31m{TOKEN[8:]}\n{AT_LENGTH}")
    schedule.mine_file(place.ws, session.path)
    sessions.index_session(place.ws, session.path, everything=True)


def by_long_turns(place: Place) -> None:
    """A secret where a turn, and an item of the work, is cut."""
    session = place.session()
    for before in range(8_920, 9_020, 25):
        session.human(f"FACT-n{before}: {PLAIN}. {'word ' * (before // 5)}{TOKEN} {'word ' * 1_500}")
    for before in range(150, 200, 15):
        session.tool("Bash", command=f"make {'x' * before} {TOKEN} {'y' * 60}")
        session.tool_succeeded()
        session.tool("Bash", command=f"make {'x ' * (MAX_TARGET_CHARS // 2 - before // 3)} {TOKEN} {'y' * 60}")
        session.tool_succeeded()
        session.tool("Write", file_path=f"/srv/{'x' * before}/{TOKEN}/{'y' * 60}")
        session.tool_succeeded()
        session.tool("Bash", command="make check")
        session.tool_failed(f"failed {'x' * before} {TOKEN} {'y' * 60}")
        session.human(f"{AT_LENGTH} Go on.")
    schedule.mine_file(place.ws, session.path)
    sessions.index_session(place.ws, session.path, everything=True)


def by_rules(place: Place) -> None:
    session = place.session()
    session.human(f"Remember that {PLAIN.lower()}, where {SECRET} is used. {AT_LENGTH}")
    place.ws.settings = replace(place.ws.settings, extractor="rules")
    assert schedule.mine_file(place.ws, session.path).count("added")


def by_answer(place: Place) -> None:
    """The model says a secret of its own accord: as if it had guessed what was taken out."""
    session = place.session()
    session.human(f"{PLAIN}. {AT_LENGTH}")
    place.answers({"operations": [operation(), operation(quote=SECRET, text=SECRET)]})
    schedule.mine_file(place.ws, session.path)
    for proposal in review.proposals(place.ws):
        review.reject(place.ws, proposal.memory.id)


def by_answer_kept(place: Place) -> None:
    """An answer that is journaled, and never applied."""
    session = place.session()
    session.human(f"{PLAIN}. {AT_LENGTH}")
    place.answers({"operations": [operation()]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memem.mine.apply.apply_all", _dies)
        with pytest.raises(KeyboardInterrupt):
            schedule.mine_file(place.ws, session.path)
    assert place.ws.state.journal.records(), "it waits to be applied"


def _dies(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def by_failures(place: Place) -> None:
    """The errors of the claude CLI, in every shape, until the turns are a dead letter."""
    session = place.session()
    error = {"type": "result", "subtype": "error", "is_error": True, "result": SECRET}
    steps: list[dict[str, Any]] = [
        {"exit": 1, "stderr": SECRET},
        {"result": error},
        {"words": SECRET},
        {"raw": f"{{{SECRET}"},
        {"operations": [{"op": TOKEN, "title": SECRET}]},
        {"exit": 1, "stderr": f"API Error 429: rate limited, {SECRET}"},
    ]
    place.ws.settings = replace(place.ws.settings, max_failures=1)
    for number, step in enumerate(steps):
        session.human(f"{PLAIN} {number}. {AT_LENGTH}")
        place.answers(step)
        schedule.mine_file(place.ws, session.path)
    assert place.ws.state.journal.dead_letters(), "some of it is a dead letter"


def by_folders(place: Place) -> None:
    """A session's own properties: its folder, its branch, its name."""
    session = place.session(cwd=f"/srv/{TOKEN}")
    session.human(f"FACT-one: {PLAIN}.\n{AT_LENGTH}")
    schedule.mine_file(place.ws, session.path)
    sessions.index_session(place.ws, session.path, everything=True)


def by_settings_of_a_project(place: Place) -> None:
    folder = place.folder / "shop"
    folder.mkdir()
    (folder / ".memem.toml").write_text(f"mine = {SECRET}\n")
    session = place.session(cwd=str(folder))
    session.human(f"FACT-one: {PLAIN}.\n{AT_LENGTH}")
    cli.main(["mine", "--session", str(session.path)])
    schedule.mine_in_background(place.ws, session.path)
    sessions.index_quietly(place.ws, session.path, everything=True)
    hook(place, "UserPromptSubmit", cwd=str(folder), prompt="when is staging restarted?")


# --- what is imported -----------------------------------------------------------------------------------------------


def bring(place: Place, path: Path) -> None:
    import_.import_notes(place.ws, [path], project="shop")


def by_note(place: Place) -> None:
    bring(place, place.file("note.md", f"---\ntitle: Deploys {TOKEN}\ntags: [{TOKEN}]\n---\n{STATEMENT}\n"))
    bring(place, place.file(f"{TOKEN}.md", f"{PLAIN} on Mondays.\n"))
    bring(place, place.file("broken.md", f"---\ntitle: [{TOKEN}\n---\n{STATEMENT}\n"))


def by_instructions(place: Place) -> None:
    bring(place, place.file("CLAUDE.md", f"# Shop {TOKEN}\n\n## Deploys {TOKEN}\n- {STATEMENT}\n- {PLAIN}.\n"))


def by_conversations(place: Place) -> None:
    said = [{"uuid": "m1", "sender": "human", "text": f"Remember: {STATEMENT}", "created_at": "2026-01-01T00:00:00Z"}]
    chat = {"uuid": "c1", "name": f"Deploys {TOKEN}", "created_at": "2026-01-01T00:00:00Z", "chat_messages": said}
    bring(place, place.file("conversations.json", json.dumps([chat])))


def by_claude_mem(place: Place) -> None:
    path = place.file("claude-mem.db", "")
    with closing(sqlite3.connect(path)) as database:
        database.executescript(CLAUDE_MEM)
        values = (STATEMENT, f"Pump {TOKEN}", json.dumps([STATEMENT]), json.dumps([f"src/{TOKEN}.py"]))
        database.execute("UPDATE observations SET narrative = ?, title = ?, facts = ?, files_modified = ?", values)
        database.commit()
    bring(place, path)


def by_export(place: Place) -> None:
    text = f"---\nid: 77777777-aaaa-4aaa-8aaa-777777777777\nmine: {TOKEN}\ntitle: Deploys\n---\n{STATEMENT}\n"
    packed = {"path": "memories/deploys-77777777.md", "modified": 1, "text": text}
    bring(place, place.file("export.json", json.dumps([{"format": "memem-export", "version": 1}, packed])))


def by_broken_json(place: Place) -> None:
    bring(place, place.file("broken.json", f'[{{"{TOKEN}": "{SECRET}'))


# --- what Claude Code tells -----------------------------------------------------------------------------------------


def hook(place: Place, event: str, **told: Any) -> None:
    envelope = {"session_id": "s1", "hook_event_name": event, "cwd": str(SHOP), **told}
    for work in (answers.answer, command.work):
        try:
            work(place.ws, event, json.dumps(envelope).encode())
        except MememError as problem:
            client.log(event, str(problem))


def by_prompt(place: Place) -> None:
    hook(place, "UserPromptSubmit", prompt=f"When is the staging database restarted, and {SECRET}?")
    hook(place, "UserPromptSubmit", prompt=SECRET, session_id=f"s-{TOKEN}"[:8])
    slice.build_slice(place.ws, f"staging database {SECRET}", cwd=place.folder, project="shop", session_id="s2")


def by_file_path(place: Place) -> None:
    place.ws.settings = replace(place.ws.settings, pretool_gating=True)
    hook(place, "PreToolUse", tool_name="Read", tool_input={"file_path": f"{SHOP}/src/{TOKEN}/a.py"})


def by_turn(place: Place) -> None:
    session = place.session()
    session.human(f"When is staging restarted? {SECRET}")
    session.claude(f"On Sundays. {SECRET}")
    told = {"transcript_path": str(session.path), "last_assistant_message": f"On Sundays. {SECRET}"}
    hook(place, "UserPromptSubmit", prompt="when is the staging database restarted?", **told)
    for event in ("Stop", "PreCompact", "SessionEnd"):
        hook(place, event, **told)


def by_envelope(place: Place) -> None:
    for envelope in (f'{{"prompt": "{SECRET}"', f'["{SECRET}"]', SECRET, f'{{"cwd": 3, "{TOKEN}": 1}}'):
        for event in ("UserPromptSubmit", "SessionStart", "Stop"):
            try:
                answers.answer(place.ws, event, envelope.encode())
                command.work(place.ws, event, envelope.encode())
            except MememError as problem:
                client.log(event, str(problem))


def by_tools(place: Place) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memory_save", {"content": STATEMENT, "title": f"Deploys {TOKEN}", "tags": [TOKEN]}),
        ("memory_save", {"content": STATEMENT, TOKEN: TOKEN}),
        ("memory_search", {"query": SECRET}),
        ("memory_get", {"id": TOKEN}),
        ("transcript_search", {"query": SECRET}),
        ("active_memory_slice", {"query": f"staging database {SECRET}"}),
    ]
    for name, arguments in calls:
        with suppress(MememError):  # it is told to whoever has asked, and written down nowhere
            tools.call(place.ws, name, arguments, cwd=place.folder, session="s3")


def by_config(place: Place) -> None:
    """A settings file that cannot be read: the message of it is what hooks and miners write down."""
    config = place.ws.home.config_file
    config.write_text(f"extractor = '{TOKEN}'\n{TOKEN} = {SECRET}\n")
    place.own.append(config)
    for arguments in (["status"], ["mine", "--history", "--background"], ["doctor"]):
        cli.main(arguments)
    with pytest.raises(MememError) as problem:
        answers.answer_here("UserPromptSubmit", b"{}")
    client.log("UserPromptSubmit", str(problem.value))


# --- what a person writes -------------------------------------------------------------------------------------------


def by_hand(place: Place) -> None:
    note = place.ws.store.paths.memories / "deploys.md"
    note.write_text(
        f"---\ntitle: Deploys {TOKEN}\ntags: [{TOKEN}]\nmine: {TOKEN}\nproject: {TOKEN}\n---\n{STATEMENT}\n"
    )
    place.own.append(note)
    half = place.ws.store.paths.memories / "half.md"
    half.write_text(f"---\ntitle: [{TOKEN}\n---\n{STATEMENT}\n")
    place.own.append(half)
    refresh.refresh(place.ws)
    hook(place, "UserPromptSubmit", prompt="where do deploys run from, the release branch?")
    pages_refresh.write_pages(place.ws)
    session_start.after_session_start(place.ws, place.folder)
    status.check(place.ws)


WAYS: list[Callable[[Place], None]] = [
    *(by_save, by_fields, by_project, by_title, by_edit, by_cli, by_reason, by_python),
    *(by_session, by_unseen_letters, by_long_turns, by_rules, by_answer, by_answer_kept, by_failures),
    *(by_folders, by_settings_of_a_project),
    *(by_note, by_instructions, by_conversations, by_claude_mem, by_export, by_broken_json),
    *(by_prompt, by_file_path, by_turn, by_envelope, by_tools, by_config, by_hand),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.removeprefix("by_").replace("_", " "))
def test_no_secret_is_left_of_what_came_in(place: Place, way: Callable[[Place], None]) -> None:
    try:
        way(place)
    except MememError as problem:
        client.log("test", str(problem))
    assert place.leaks() == []


def test_the_canaries_would_be_found(place: Place) -> None:
    """The other half: a test that looks nowhere finds nothing."""
    (place.ws.home.root / "state" / "x.db").write_bytes(f"…{TOKEN.upper()}…".encode())
    assert ["x.db" in each for each in place.leaks()] == [True]


def test_original_bytes_of_a_persons_note_are_only_in_the_undo_store(place: Place) -> None:
    note = place.ws.store.paths.memories / "deploys.md"
    note.write_text(f"---\ntitle: Deploys\n---\n{STATEMENT}\n")
    refresh.refresh(place.ws)
    (entry,) = find.search(place.ws, "deploys release branch", project="general")
    write.edit(place.ws, entry.id, title="Releases")
    forget.forget(place.ws, entry.id)
    (kept,) = place.ws.store.paths.forgotten.glob("*.md")
    allowed = {place.ws.home.undo, kept.parent}
    assert {Path(each.partition(": ")[0]).parent for each in place.leaks()} == allowed
