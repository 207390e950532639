"""memem demo"""

import argparse
import shlex
import tempfile
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import memem
from memem.core.errors import InputError
from memem.core.files import from_toml
from memem.core.memory import ID8
from memem.doors.cli import output
from memem.inject import slice
from memem.mine import schedule
from memem.notes import save
from memem.pages.catch_up import catching_up
from memem.search import find, refresh
from memem.upkeep import status as upkeep_status
from memem.workspace import Workspace, open_workspace

QUESTION = "how do we sign tokens?"
PARAPHRASE = "which cryptographic algorithm protects a login?"
RELEVANT = "continue the auth rollout: are access tokens signed with RS256 everywhere?"
LATER = "the tests get connection refused on port 5433 again"
IRRELEVANT = "ok thanks, that looks great"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, help="a new folder for the demo; default: a temporary one")


def run(options: argparse.Namespace) -> int:
    folder: Path | None = options.folder
    if folder is not None and folder.exists():
        raise InputError(f"{folder} exists already; the demo only writes into a new folder.")
    place = folder.absolute() if folder else Path(tempfile.mkdtemp(prefix="memem-demo-"))
    ws = open_workspace(actor="demo", home=place / "home", vault=place / "vault")
    try:
        with catching_up(ws):
            _show(ws)
    finally:
        ws.close()
    return 0


def _show(ws: Workspace) -> None:
    output.heading("1. A dozen memories of two projects, saved as markdown notes")
    written = [save.save(ws, **memory) for memory in example_memories()]
    for result in written:
        output.written(result)
    refresh.refresh(ws)

    output.heading(f'2. memem search "{QUESTION}"')
    output.entries(find.search(ws, QUESTION, current="shop-api", limit=3))

    output.heading(f'3. By what it means, not by its words: memem search "{PARAPHRASE}"')
    found = find.search(ws, PARAPHRASE, current="shop-api", limit=3)
    output.degraded(found.degraded)
    output.listed(found, json=False, nothing="Nothing found.")

    output.heading(f'4. What Claude is told for "{RELEVANT}"')
    told = slice.build_slice(ws, RELEVANT, cwd=ws.settings.vault, project="shop-api")
    output.say(told.text.rstrip("\n"))

    output.heading(f'5. What Claude is told for "{IRRELEVANT}"')
    silent = slice.build_slice(ws, IRRELEVANT, cwd=ws.settings.vault, project="shop-api")
    output.say(silent.text.rstrip("\n") or f"(nothing: {silent.reason})")

    output.heading("6. What it learns from a session of Claude Code, here by rules, without a model")
    session = example_session()
    ws.settings = replace(ws.settings, extractor="rules")
    for applied in schedule.mine_file(ws, session).applied:
        output.say(f"{applied.outcome} {applied.id[:ID8]}  {applied.title}")

    output.heading(f'7. What Claude is told in a later one for "{LATER}"')
    later = slice.build_slice(ws, LATER, cwd=ws.settings.vault, project="shop-api")
    output.say(later.text.rstrip("\n"))

    output.heading("8. It is yours")
    status = upkeep_status.status(ws)
    output.say(f"{status.memories} notes; recall by {status.recall}.")
    output.say(f"Open this folder as a vault in Obsidian, edit a note, and search again: {ws.settings.vault}")
    home, vault = shlex.quote(str(ws.home.root)), shlex.quote(str(ws.settings.vault))
    output.say(f"  ./bootstrap.sh shell env MEMEM_DIR={home} MEMEM_OBSIDIAN_VAULT={vault} memem search 'ledger job'")


def example_session() -> Path:
    """The transcript that comes with memem: beside the package in a clone, inside it when installed."""
    package = Path(memem.__file__).parent
    places = (package / "examples", package.parent / "examples")
    return next(place for place in places if place.is_dir()) / "session.jsonl"


def example_memories() -> list[dict[str, Any]]:
    """The arguments of `remember.save` for each example."""
    raw = files("memem.doors.cli.home").joinpath("demo_memories.toml").read_text(encoding="utf-8")
    lists = ("tags", "keys", "paths")
    memories = from_toml(raw)["memory"]
    return [{name: tuple(value) if name in lists else value for name, value in each.items()} for each in memories]
