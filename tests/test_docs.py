"""Every verb, setting, folder and variable is documented, and nothing is documented that is not there."""

import argparse
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import memem
from memem.core.conversation import Turn
from memem.core.memory import Edge, Entry, Hit, Memory, Slice
from memem.core.options import OPTIONS
from memem.doors.cli import VERBS, Parser, commands_of
from memem.doors.cli.edit import ForgetResult
from memem.doors.cli.mine import MineResult
from memem.inject.provenance import Provenance
from memem.inject.receipts import Injection, InjectionDecision
from memem.mine.apply import Applied
from memem.mine.ask import Mined
from memem.mine.history import Plan
from memem.mine.status import HistoryState, LastMined, MiningState
from memem.notes.conflicts import Conflict, Resolved
from memem.notes.history import Batch
from memem.notes.review import Proposal
from memem.notes.undo import Left, Undone
from memem.notes.write import Written
from memem.pages.draw import GraphPicture
from memem.pages.refresh import Pages
from memem.search.encoders.model import EncodeReport, ModelState
from memem.search.graph.build import GraphSummary
from memem.search.graph.read import GraphStats, Neighbor, Neighborhood, Timeline
from memem.search.refresh import Refreshed
from memem.search.transcripts.sessions import TurnContext, TurnHit
from memem.state.events import Event
from memem.state.receipts import Receipt, ReceiptItem
from memem.state.usefulness import Usefulness
from memem.transfer.export import Exported
from memem.transfer.import_ import Imported
from memem.transfer.items import ImportedFile
from memem.transfer.sources import FORMATS
from memem.upkeep.checks.result import Diagnosis
from memem.upkeep.config import Setting
from memem.upkeep.curate import Curated, NotApplied, Suggestion
from memem.upkeep.graph_audit import Audit, Flaw
from memem.upkeep.projects import KnownFolders, KnownProject, MiningRefusal, TrustChange, WaitingClaim
from memem.upkeep.status import Finding, Status
from memem.upkeep.uninstall import InstalledPart, UninstallReport

ROOT = Path(__file__).parent.parent


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def sources() -> list[Path]:
    return [*ROOT.glob("memem/**/*.py"), *ROOT.glob("bench/*.py"), ROOT / "bootstrap.sh"]


def test_every_variable_is_documented_and_every_documented_one_is_used() -> None:
    used = {name for path in sources() for name in re.findall(r"\bMEMEM_[A-Z_]+\b", path.read_text(encoding="utf-8"))}
    used |= {option.variable for option in OPTIONS}
    former = {option.former.variable for option in OPTIONS if option.former}
    page = read("docs/configuration.md")
    assert set(re.findall(r"^\| `(MEMEM_[A-Z_]+)`", page, re.MULTILINE)) == used - former
    assert all(name in page for name in former)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.key)
def test_every_setting_is_documented_with_its_key_and_default(option: object) -> None:
    key, variable, default = (getattr(option, name) for name in ("key", "variable", "default"))
    shown = f"`{default}` |" if default else "|"
    assert f"| `{variable}` | `{key}` | {shown}" in read("docs/configuration.md")


def test_every_key_of_the_documentation_is_a_setting() -> None:
    rows = re.findall(r"^\| `MEMEM_[A-Z_]+` \| `([a-z_]+)` \|", read("docs/configuration.md"), re.MULTILINE)
    assert rows == [option.key for option in OPTIONS]


SHAPES: dict[str, Any] = {
    "memory": Memory,
    "entry": Entry,
    "hit": Hit,
    "slice": Slice,
    "write result": Written,
    "forget result": ForgetResult,
    "proposal": Proposal,
    "batch": Batch,
    "event": Event,
    "undo result": Undone,
    "skipped note": Left,
    "import result": Imported,
    "imported item": ImportedFile,
    "export result": Exported,
    "uninstall result": UninstallReport,
    "part": InstalledPart,
    "status": Status,
    "known folders": KnownFolders,
    "known project": KnownProject,
    "waiting claim": WaitingClaim,
    "mining refusal": MiningRefusal,
    "trust change": TrustChange,
    "finding": Finding,
    "model": ModelState,
    "encode result": EncodeReport,
    "diagnosis": Diagnosis,
    "index result": Refreshed,
    "setting": Setting,
    "mining state": MiningState,
    "history run": HistoryState,
    "recently mined session": LastMined,
    "mined session": Mined,
    "applied operation": Applied,
    "plan": Plan,
    "mine result": MineResult,
    "provenance": Provenance,
    "injection": Injection,
    "usefulness": Usefulness,
    "decision": InjectionDecision,
    "receipt": Receipt,
    "receipt item": ReceiptItem,
    "pages result": Pages,
    "timeline": Timeline,
    "conflict": Conflict,
    "edge": Edge,
    "graph summary": GraphSummary,
    "graph statistics": GraphStats,
    "neighborhood": Neighborhood,
    "neighbor": Neighbor,
    "audit": Audit,
    "flaw": Flaw,
    "resolution": Resolved,
    "curation": Curated,
    "suggestion": Suggestion,
    "skipped suggestion": NotApplied,
    "drawing": GraphPicture,
    "turn": Turn,
    "turn match": TurnHit,
    "adjacent turn": TurnContext,
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_json_of_every_result_is_documented_key_by_key(name: str) -> None:
    paragraphs = read("docs/json.md").partition("## Keys")[2].split("\n\n")
    (paragraph,) = [each for each in paragraphs if f"**{name}**" in each]
    documented = re.findall(r"`([a-z_0-9]+)`", re.sub(r"\(.*?\)", "", paragraph.replace("\n", " ")))
    own = [field.name for field in fields(SHAPES[name]) if field.name != "memory"]
    inherited = [field.name for field in fields(Entry)] if name in ("hit", "neighbor") else []
    assert sorted(documented) == sorted(set(own) - set(inherited))


def test_every_command_is_documented_and_no_other() -> None:
    commands = [name for verb, (module, _) in VERBS.items() for name in (commands_of(verb) if module else [verb])]
    assert re.findall(r"^\| `memem ([a-z ]+)` \|", read("docs/commands.md"), re.MULTILINE) == commands


def test_every_option_of_a_command_is_documented() -> None:
    rows = dict(re.findall(r"^\| `memem ([a-z ]+)` \|(.*)$", read("docs/commands.md"), re.MULTILINE))
    for verb, (module, _) in VERBS.items():
        for name in commands_of(verb) if module else ():
            shown = [
                action.option_strings[0]
                for action in Parser(name)._actions
                if action.option_strings and action.help != argparse.SUPPRESS
            ]
            assert [
                each for each in shown if each not in ("-h", "--json", "--show-setting") and each not in rows[name]
            ] == [], name


def test_every_format_of_an_import_has_a_section() -> None:
    assert re.findall(r"^## .*: `([a-z-]+)`$", read("docs/moving-in.md"), re.MULTILINE) == list(FORMATS)


def test_every_folder_is_on_both_maps() -> None:
    folders = {path.parent.name for path in ROOT.glob("memem/*/__init__.py")}
    for page in (memem.__doc__ or "", read("docs/architecture.md")):
        assert sorted(folder for folder in folders if f"{folder}/" not in page) == []


def test_every_module_has_a_docstring() -> None:
    for path in ROOT.glob("memem/**/*.py"):
        assert path.read_text(encoding="utf-8").startswith('"""'), path.relative_to(ROOT)


def test_every_link_of_the_documentation_leads_somewhere() -> None:
    for page in (
        "README.md",
        "llms.txt",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "docs/architecture.md",
        "docs/benchmarks.md",
        "docs/commands.md",
        "docs/configuration.md",
        "docs/json.md",
        "docs/moving-in.md",
        "docs/reliability.md",
    ):
        for target in re.findall(r"\]\(([^)#]+)\)", read(page)):
            assert target.startswith("https://") or (ROOT / page).parent.joinpath(target).exists(), (page, target)


def test_the_changelog_has_this_version() -> None:
    assert f"## [{memem.__version__}] - " in read("CHANGELOG.md")


def test_lock_files_are_hashed_and_name_no_address() -> None:
    for name in ("requirements.lock", "requirements-dev.lock", "requirements-uv.lock"):
        text = read(name)
        assert "://" not in text
        pins = [line for line in text.splitlines() if re.match(r"[a-z]", line)]
        assert pins
        assert text.count("--hash=sha256:") >= len(pins)


def test_modules_stay_short() -> None:
    long = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in ROOT.glob("memem/**/*.py")}
    # What a hook runs stands alone: a second module would cost every prompt more than it takes to read.
    allowed = {"memem/doors/hook/client.py": 360}
    assert {name: lines for name, lines in long.items() if lines > allowed.get(name, 320)} == {}
