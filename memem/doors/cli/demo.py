"""The demo command."""

import argparse
import shlex
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import memem
from memem.core.data_files import load_table
from memem.core.errors import InputError
from memem.core.memory import ID8
from memem.doors.cli import output
from memem.doors.cli.command import Command
from memem.inject import slice
from memem.mine import schedule
from memem.notes import save
from memem.pages.catch_up import catching_up
from memem.search import find, refresh
from memem.upkeep import status as upkeep_status
from memem.workspace import Workspace, open_workspace

SESSION_FOLDER = Path("/home/ada/shop-api")  # of examples/session.jsonl
_DEMO = load_table(__file__, "demo.toml")


def demo(options: argparse.Namespace) -> int:
    folder: Path | None = options.folder
    if folder is not None and folder.exists():
        raise InputError(f"{folder} already exists; choose a new folder for the demo.")
    place = folder.absolute() if folder else Path(tempfile.mkdtemp(prefix="memem-demo-"))
    with closing(open_workspace(actor="demo", home=place / "home", vault=place / "vault")) as ws, catching_up(ws):
        _show(ws)
    return 0


def _show(ws: Workspace) -> None:
    claim = ws.folders.claim_of(SESSION_FOLDER)
    ws.folders.change(lambda record: record.grant(claim))  # the reader may have a project of that name
    question, paraphrase = _DEMO["searches"]
    relevant, irrelevant, later = _DEMO["prompts"]
    output.heading("1. Save a dozen memories from two projects as Markdown notes")
    for memory in example_memories():
        output.written(save.save(ws, **memory))
    refresh.refresh(ws)

    output.heading(f'2. memem search "{question}"')
    output.entries(find.search(ws, question, current="shop-api", limit=3))
    output.heading(f'3. Search by meaning, not by words: memem search "{paraphrase}"')
    hits = find.search(ws, paraphrase, current="shop-api", limit=3)
    output.degraded(hits.degraded)
    output.entries(hits)

    for number, prompt in ((4, relevant), (5, irrelevant)):
        output.heading(f'{number}. What Claude sees for "{prompt}"')
        _show_slice(ws, prompt)
    output.heading("6. Learn from a Claude Code session, here with rules instead of a model")
    ws.settings = replace(ws.settings, extractor="rules")
    package = Path(memem.__file__).parent  # the examples are inside it when installed, next to it in a clone
    examples = next(path for path in (package / "examples", package.parent / "examples") if path.is_dir())
    for applied in schedule.mine_file(ws, examples / "session.jsonl").applied:
        output.say(f"{applied.outcome} {applied.id[:ID8]}  {applied.title}")
    output.heading(f'7. What Claude sees in a later session for "{later}"')
    _show_slice(ws, later)

    output.heading("8. The notes are yours")
    status = upkeep_status.status(ws)
    output.say(f"{output.count(status.memories, 'note')}; recall by {status.recall}.")
    output.say(f"Open {ws.settings.vault} as a vault in Obsidian, edit a note, then search again:")
    home, vault = shlex.quote(str(ws.home.root)), shlex.quote(str(ws.settings.vault))
    output.say(f"  ./bootstrap.sh shell env MEMEM_DIR={home} MEMEM_OBSIDIAN_VAULT={vault} memem search 'ledger job'")


def _show_slice(ws: Workspace, prompt: str) -> None:
    result = slice.build_slice(ws, prompt, cwd=ws.settings.vault, project="shop-api")
    output.say(result.text.rstrip("\n") or f"(nothing: {result.reason})")


def example_memories() -> list[dict[str, Any]]:
    return [{name: tuple(v) if isinstance(v, list) else v for name, v in item.items()} for item in _DEMO["memory"]]


COMMANDS = {"demo": Command(demo, opens=False)}
