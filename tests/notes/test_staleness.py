"""Anchors are found when a memory is written and checked when a session starts; without them it is stale."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memem.core.memory import Memory
from memem.notes import repository, staleness, write
from memem.search import find, refresh
from memem.state import note_records
from memem.upkeep import doctor, status
from memem.workspace import Workspace
from tests.fakes import SteppingClock

AUTH = "class AuthService: ...\n\n\ndef verify_token(token):\n    return AuthService.check(token)\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The folder of a project that is in no repository."""
    return files(tmp_path / "shop", {"src/auth.py": AUTH, "README.md": "The shop."})


def files(root: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def git(root: Path, *words: str) -> None:
    names = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "-C", root, *names, *words], check=True, capture_output=True)


@pytest.fixture
def committed(shop: Path) -> Path:
    """The same folder as a repository."""
    git(shop, "init", "-q")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "begun")
    return shop


def memory(number: int = 1, body: str = "Tokens are checked in src/auth.py.", **properties: Any) -> Memory:
    identity, now = f"{number:08d}-0000-4000-8000-000000000000", "2026-03-01T09:00:00+01:00"
    made = Memory(identity, f"N{number}", body, "shop", created=now, updated=now, author="model")
    return replace(made, **properties)


def keep(ws: Workspace, root: Path | None, number: int = 1, *words: str, **properties: Any) -> Memory:
    """A memory that is anchored and written down; a machine's, unless it says otherwise."""
    written = write.keep(ws, staleness.anchored(ws, memory(number, *words, **properties), root))
    assert written.outcome == "created"
    return written.memory


def by_hand(ws: Workspace, memories: Path, body: str = "Tokens are checked in src/auth.py.", name: str = "own") -> Path:
    """A note that a person wrote in Obsidian."""
    if not memories.is_dir():
        keep(ws, None, 99, "The house is yellow.")
    note = memories / f"{name}.md"
    note.write_text(f"---\nproject: shop\n---\n{body}\n")
    refresh.refresh(ws)
    return note


def states(ws: Workspace) -> dict[str, tuple[str, str]]:
    """Status and reason of the shop's notes, by title."""
    rows = [row.memory for row in ws.index.rows("project = 'shop'") if row.memory]
    return {each.title: (each.status, each.stale_because) for each in rows if each.title != "N99"}


GONE = ("stale", "src/auth.py is gone from shop")
THERE = ("active", "")


# --- what a statement names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "anchors"),
    [
        ("Tokens are checked in src/auth.py.", ("src/auth.py",)),
        ("See ./src/auth.py:12, (src/auth.py)", ("src/auth.py",)),
        ("`verify_token` is in src/auth.py", ("src/auth.py", "src/auth.py#verify_token")),
        ("AuthService.check() of src/auth.py", ("src/auth.py", "src/auth.py#AuthService")),
        (
            "verify_token.AuthService of src/auth.py",
            ("src/auth.py", "src/auth.py#verify_token", "src/auth.py#AuthService"),
        ),
        ("`auth.py` and `src/auth.py` hold `sign_token`", ("src/auth.py",)),
        ("`token` is an argument in src/auth.py", ("src/auth.py",)),
        ("`main` of src/app.py returns `true`, `None` and `self`", ("src/app.py",)),
        ("Tokens are checked in src/token.py by verify_token.", ()),
        ("The folder src/ holds it, and ../shop/../secret.py does not", ()),
        ("https://example.com/src/auth.py", ()),
    ],
)
def test_files_that_are_there_and_names_that_they_define_are_anchors(
    ws: Workspace, shop: Path, body: str, anchors: tuple[str, ...]
) -> None:
    files(shop, {"src/app.py": "def main():\n    true = None\n    self = true\n"})
    files(shop.parent, {"secret.py": "x"})
    assert staleness.anchored(ws, memory(body=body), shop).anchors == anchors


def test_a_general_memory_is_not_anchored_to_one_projects_files(ws: Workspace, shop: Path) -> None:
    general = memory(body="Like `verify_token` in src/auth.py, check early.", project="general")
    assert staleness.anchored(ws, general, shop).anchors == ()
    assert staleness.anchored(ws, replace(general, anchors=("kept.py",)), shop).anchors == ("kept.py",)


def test_a_meaningless_anchor_of_an_earlier_version_makes_no_note_stale(ws: Workspace, shop: Path) -> None:
    keep(ws, None, 1, "It returns `true`, see src/auth.py.", anchors=("src/auth.py", "src/auth.py#true"))
    keep(ws, None, 2, "It asks `AskService`, see src/auth.py.", anchors=("src/auth.py", "src/auth.py#AskService"))
    staleness.check(ws, shop)
    assert states(ws) == {"N1": THERE, "N2": ("stale", "AskService is gone from shop")}


def test_paths_without_wildcards_are_anchors_too(ws: Workspace, shop: Path) -> None:
    named = memory(body="Tokens.", paths=("src/auth.py", "src/*.py", "src/gone.py"))
    assert staleness.anchored(ws, named, shop).anchors == ("src/auth.py",)


def test_link_out_of_the_folder_is_not_an_anchor(ws: Workspace, shop: Path, tmp_path: Path) -> None:
    files(tmp_path, {"secret.py": "x"})
    (shop / "out.py").symlink_to(tmp_path / "secret.py")
    assert staleness.anchored(ws, memory(body="See out.py"), shop).anchors == ()


def test_anchors_are_bounded(ws: Workspace, shop: Path) -> None:
    names = [f"name_{number}" for number in range(30)]
    many = {f"f{number}.py": "".join(f"{name} = 1\n" for name in names) for number in range(12)}
    files(shop, many)
    found = staleness.anchored(ws, memory(body=" ".join([*many, *names])), shop).anchors
    assert found == (*list(many)[: staleness.MOST_FILES], *(f"f0.py#{name}" for name in names[:8]))


def test_a_large_file_is_an_anchor_and_is_not_looked_into(ws: Workspace, shop: Path) -> None:
    files(shop, {"big.py": "sign_token " * 100_000})
    assert staleness.anchored(ws, memory(body="sign_token is in big.py"), shop).anchors == ("big.py",)


@pytest.mark.parametrize("root", [None, "src/auth.py", "nowhere"])
def test_without_a_folder_nothing_is_anchored(ws: Workspace, shop: Path, root: str | None) -> None:
    given = memory()
    assert staleness.anchored(ws, given, shop / root if root else None) == given


def test_the_day_that_a_statement_announces_is_its_last(ws: Workspace) -> None:
    frozen = "Deploys are frozen until Friday."
    assert staleness.anchored(ws, memory(body=frozen), None).valid_to == "2026-03-06T23:59:59+01:00"
    assert staleness.anchored(ws, memory(body=frozen, created=""), None).valid_to == "2026-03-06T23:59:59+01:00"
    assert (
        staleness.anchored(ws, memory(body=frozen, valid_to="2026-05-01T12:00:00+02:00"), None).valid_to[:10]
        == "2026-05-01"
    )


# --- what is gone -------------------------------------------------------------------------------------------------


def test_a_machines_note_says_that_it_is_stale_and_why_and_recovers(ws: Workspace, shop: Path) -> None:
    keep(ws, shop)
    assert staleness.check(ws, shop) == staleness.Checked(1)
    (shop / "src/auth.py").unlink()
    assert staleness.check(ws, shop) == staleness.Checked(1, stale=1)
    note = write.note_of(ws, "00000001")
    assert (note.memory.status, note.memory.stale_because) == GONE
    assert not note.touched_by_hand
    assert not find.rank_candidates(ws, "tokens checked", "shop")
    assert staleness.check(ws, shop) == staleness.Checked(1)
    files(shop, {"src/auth.py": AUTH})
    assert staleness.check(ws, shop) == staleness.Checked(1, recovered=1)
    assert (write.note_of(ws, "00000001").memory.status, states(ws)) == ("active", {"N1": THERE})
    assert len(find.rank_candidates(ws, "tokens checked", "shop")) == 1


def test_verdicts_are_one_batch_with_reasons(ws: Workspace, shop: Path) -> None:
    keep(ws, shop)
    (shop / "src/auth.py").unlink()
    staleness.check(ws, shop)
    event = ws.events.last()
    assert event
    assert (event.action, event.what, event.why) == ("edit", "staleness", "src/auth.py is gone from shop")
    assert ws.events.read_undo(event.before)


def test_a_persons_note_is_left_as_it_is_and_is_stale_all_the_same(ws: Workspace, shop: Path, memories: Path) -> None:
    note = by_hand(ws, memories)
    before = note.read_bytes()
    staleness.check(ws, shop)
    (shop / "src/auth.py").unlink()
    assert staleness.check(ws, shop).stale == 1
    assert (note.read_bytes(), states(ws)) == (before, {"own": GONE})
    assert not find.rank_candidates(ws, "tokens checked", "shop")
    files(shop, {"src/auth.py": AUTH})
    assert staleness.check(ws, shop).recovered == 1
    assert (note.read_bytes(), states(ws)) == (before, {"own": THERE})


def test_a_rebuilt_index_has_the_same_persons_notes_stale(ws: Workspace, shop: Path, memories: Path) -> None:
    by_hand(ws, memories)
    staleness.check(ws, shop)
    (shop / "src/auth.py").unlink()
    staleness.check(ws, shop)
    held = [row.held for row in ws.index.rows("1 ORDER BY path")]
    ws.close()
    ws.index_file.unlink()
    refresh.refresh(ws)
    assert (states(ws), [row.held for row in ws.index.rows("1 ORDER BY path")]) == ({"own": GONE}, held)


def test_a_persons_stale_note_was_held_until_it_was_found_so(
    ws: Workspace, shop: Path, memories: Path, clock: SteppingClock
) -> None:
    by_hand(ws, memories)
    staleness.check(ws, shop)
    clock.forward(days=3)
    (shop / "src/auth.py").unlink()
    staleness.check(ws, shop)
    then = [{hit.title for hit in find.search(ws, "tokens", as_of=day)} for day in ("2026-03-03", "2026-03-04")]
    assert then == [{"own"}, set()]


def test_persons_note_without_anchors_stays_active(ws: Workspace, shop: Path, memories: Path) -> None:
    by_hand(ws, memories, "Tokens will be checked in src/later.py.")
    assert staleness.check(ws, shop).stale == 0
    assert states(ws) == {"own": THERE}


def test_rewritten_note_of_a_person_gets_new_anchors(ws: Workspace, shop: Path, memories: Path) -> None:
    note = by_hand(ws, memories)
    staleness.check(ws, shop)
    (shop / "src/auth.py").unlink()
    staleness.check(ws, shop)
    note.write_text(note.read_text().replace("Tokens", "All tokens"))
    refresh.refresh(ws)
    assert states(ws) == {"own": THERE}
    staleness.check(ws, shop)
    assert states(ws) == {"own": GONE}
    note.write_text(note.read_text().replace("src/auth.py", "README.md"))
    refresh.refresh(ws)
    staleness.check(ws, shop)
    assert states(ws) == {"own": THERE}


def test_a_person_who_changes_a_stale_note_vouches_for_it(ws: Workspace, shop: Path, memories: Path) -> None:
    note = by_hand(ws, memories)
    staleness.check(ws, shop)
    (shop / "src/auth.py").unlink()
    staleness.check(ws, shop)
    note.write_text(note.read_text().replace("project: shop", "project: shop\nimportance: 5"))
    refresh.refresh(ws)
    assert staleness.check(ws, shop).recovered == 1
    assert staleness.check(ws, shop).stale == 0
    assert states(ws) == {"own": THERE}


def test_person_can_vouch_for_a_note_that_states_its_anchors(ws: Workspace, shop: Path, memories: Path) -> None:
    keep(ws, shop)
    note = memories / "n1-00000001.md"
    for importance in (4, 5):
        note.write_text(note.read_text().replace(f"importance: {importance - 1}", f"importance: {importance}"))
        refresh.refresh(ws)
        (shop / "src/auth.py").unlink(missing_ok=True)
        staleness.check(ws, shop)
        assert states(ws) == {"N1": GONE if importance == 4 else THERE}
    assert staleness.check(ws, shop) == staleness.Checked(1)


def test_a_day_that_is_over_is_over_whoever_vouches(ws: Workspace, shop: Path, memories: Path) -> None:
    note = by_hand(ws, memories)
    note.write_text(note.read_text().replace("project: shop", "project: shop\nvalid_to: 2026-02-01"))
    for line in ("kind: fact", "layer: 2"):
        note.write_text(note.read_text().replace("project: shop", f"{line}\nproject: shop"))
        refresh.refresh(ws)
        staleness.check(ws, shop)
        assert states(ws) == {"own": ("stale", "it was valid until 2026-02-01")}
    ws.close()
    ws.index_file.unlink()
    refresh.refresh(ws)
    assert states(ws) == {"own": ("stale", "it was valid until 2026-02-01")}


def test_a_person_may_call_a_machines_note_active_in_spite_of_it(ws: Workspace, shop: Path) -> None:
    keep(ws, shop)
    (shop / "src/auth.py").unlink()
    staleness.check(ws, shop)
    write.edit(ws, "00000001", status="active")
    staleness.check(ws, shop)
    assert states(ws)["N1"][0] == "active"


def test_stale_note_touched_by_a_person_recovers_in_the_record(ws: Workspace, shop: Path, memories: Path) -> None:
    keep(ws, shop)
    (shop / "src/auth.py").unlink()
    staleness.check(ws, shop)
    note = memories / "n1-00000001.md"
    note.write_text(note.read_text().replace("importance: 3", "importance: 4"))
    files(shop, {"src/auth.py": AUTH})
    refresh.refresh(ws)
    assert staleness.check(ws, shop).recovered == 1
    assert ("status: stale" in note.read_text(), states(ws)) == (True, {"N1": THERE})


def test_note_marked_stale_by_a_person_is_left_alone(ws: Workspace, shop: Path) -> None:
    keep(ws, shop, status="stale")
    assert staleness.check(ws, shop) == staleness.Checked()
    assert states(ws) == {"N1": ("stale", "")}


@pytest.mark.parametrize(
    ("texts", "state"),
    [
        ({}, ("stale", "src/auth.py and 1 more are gone from shop")),
        ({"src/token.py": ""}, THERE),
        ({"lib/auth.py": ""}, THERE),  # it was moved
    ],
)
def test_a_note_is_stale_when_all_the_files_it_names_are_gone(
    ws: Workspace, shop: Path, texts: dict[str, str], state: tuple[str, str]
) -> None:
    files(shop, {"src/token.py": ""})
    keep(ws, shop, 1, "Tokens are checked in src/auth.py and src/token.py.")
    shutil.rmtree(shop / "src")
    files(shop, texts)
    staleness.check(ws, shop)
    assert states(ws) == {"N1": state}


@pytest.mark.parametrize(
    ("texts", "state"),
    [
        ({"src/auth.py": ""}, ("stale", "verify_token and 1 more are gone from shop")),
        ({"src/auth.py": "class AuthService: pass"}, THERE),
        ({"src/auth.py": "def verify_tokens(): pass"}, ("stale", "verify_token and 1 more are gone from shop")),
        ({"src/auth.py": "", "lib/tokens.py": "def verify_token(): pass"}, THERE),
        (
            {"src/auth.py": "", ".hidden/tokens.py": "verify_token"},
            ("stale", "verify_token and 1 more are gone from shop"),
        ),
    ],
)
def test_a_note_is_stale_when_all_the_names_in_its_files_are_gone(
    ws: Workspace, shop: Path, texts: dict[str, str], state: tuple[str, str]
) -> None:
    keep(ws, shop, 1, "verify_token of src/auth.py asks AuthService.")
    files(shop, texts)
    staleness.check(ws, shop)
    assert states(ws) == {"N1": state}


def test_anchors_that_lead_out_of_the_folder_are_not_looked_for(ws: Workspace, shop: Path) -> None:
    keep(ws, shop, 1, "Tokens.", anchors=("../secret.py", "/etc/passwd#root"))
    assert staleness.check(ws, shop).stale == 0


# --- in a repository ----------------------------------------------------------------------------------------------


def test_deleted_file_is_gone_committed_or_not_and_recovers(ws: Workspace, committed: Path) -> None:
    keep(ws, committed)
    (committed / "src/auth.py").unlink()
    staleness.check(ws, committed)
    assert states(ws) == {"N1": GONE}
    git(committed, "commit", "-qam", "no more")
    staleness.check(ws, committed)
    assert states(ws) == {"N1": GONE}
    git(committed, "revert", "--no-edit", "HEAD")
    staleness.check(ws, committed)
    assert states(ws) == {"N1": THERE}


def test_untracked_file_counts_as_there(ws: Workspace, committed: Path) -> None:
    keep(ws, committed, 1, "verify_token is in src/auth.py")
    git(committed, "rm", "-q", "src/auth.py")
    files(committed, {"lib/auth.py": AUTH})
    staleness.check(ws, committed)
    assert states(ws) == {"N1": THERE}
    (committed / "lib/auth.py").write_text("")
    staleness.check(ws, committed)
    assert states(ws) == {"N1": ("stale", "verify_token is gone from shop")}


def test_a_project_in_a_part_of_a_repository_is_looked_for_in_all_of_it(ws: Workspace, committed: Path) -> None:
    part = files(committed / "part", {".memem.toml": 'project = "shop"', "tax.py": "def tax_of(): pass"})
    keep(ws, part, 1, "tax_of is in tax.py")
    (part / "tax.py").rename(committed / "tax.py")
    staleness.check(ws, part)
    assert states(ws) == {"N1": THERE}


@pytest.mark.parametrize("mark", ["rebase-merge", "MERGE_HEAD"])
def test_in_the_middle_of_a_rebase_or_merge_nothing_is_judged(ws: Workspace, committed: Path, mark: str) -> None:
    keep(ws, committed)
    git(committed, "rm", "-q", "src/auth.py")
    (committed / ".git" / mark).touch()
    assert staleness.check(ws, committed) == staleness.Checked()
    (committed / ".git" / mark).unlink()
    assert staleness.check(ws, committed).stale == 1


def test_variables_of_git_do_not_lead_elsewhere(
    ws: Workspace, committed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(ws, committed)
    git(committed, "mv", "src/auth.py", "auth.py")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert staleness.check(ws, committed).stale == 0


@pytest.mark.parametrize("fault", ["fails", "late", "missing"])
def test_where_git_does_not_answer_nothing_is_judged_and_where_there_is_none_one_looks_oneself(
    ws: Workspace, committed: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    keep(ws, committed, 1)
    keep(ws, committed, 2, "verify_token, of src/auth.py.", anchors=("README.md", "README.md#verify_token"))
    git(committed, "rm", "-q", "src/auth.py")

    def run(command: list[str], **_: object) -> "subprocess.CompletedProcess[bytes]":
        if fault == "late":
            raise subprocess.TimeoutExpired(command, 1)
        return subprocess.CompletedProcess(command, 128, b"", b"")

    monkeypatch.setattr(subprocess, "run", run)
    if fault == "missing":
        monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert staleness.check(ws, committed).stale == (2 if fault == "missing" else 0)


# --- whose folder it is -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["gone", "empty", "file"])
def test_a_folder_that_is_not_there_or_empty_judges_nothing(ws: Workspace, shop: Path, folder: str) -> None:
    keep(ws, shop)
    shutil.rmtree(shop)
    if folder == "empty":
        shop.mkdir()
        git(shop, "init", "-q")
    if folder == "file":
        shop.touch()
    assert staleness.check(ws, shop) == staleness.Checked()
    assert states(ws) == {"N1": THERE}


def test_notes_of_other_projects_are_left_alone(ws: Workspace, shop: Path, tmp_path: Path) -> None:
    keep(ws, shop)
    (shop / "src/auth.py").unlink()
    assert staleness.check(ws, files(tmp_path / "other", {"x": ""})) == staleness.Checked()
    assert staleness.check(ws, ws.user_home) == staleness.Checked()


def test_when_most_are_gone_at_once_it_is_the_folder_that_is_another(ws: Workspace, shop: Path) -> None:
    for number in range(1, 7):
        keep(ws, shop, number, f"Tokens of kind {number} are checked in src/auth.py.")
    keep(ws, shop, 7, "The shop is told of in README.md.")
    (shop / "src/auth.py").unlink()
    withheld = "files that 6 of 7 memories of shop refer to disappeared from its folder at once"
    assert staleness.check(ws, shop) == staleness.Checked(7, withheld=withheld)
    assert set(states(ws).values()) == {THERE}
    told = next(each for each in doctor.diagnose(ws) if each.what == "staleness")
    assert (told.state, told.detail) == ("degraded", f"{withheld}, so no memory was marked stale")
    files(shop, {"src/auth.py": AUTH})
    staleness.check(ws, shop)
    assert staleness.withheld(ws) == ()


def test_half_of_them_or_a_few_may_be_gone_at_once(ws: Workspace, shop: Path) -> None:
    for number in range(1, 6):
        keep(ws, shop, number, f"Tokens of kind {number} are checked in src/auth.py.")
        keep(ws, shop, number + 5, f"Point {number} of README.md.")
    (shop / "src/auth.py").unlink()
    assert staleness.check(ws, shop).stale == 5


# --- a day that is over -------------------------------------------------------------------------------------------


def test_after_the_day_it_announced_a_note_is_stale_in_any_project(ws: Workspace, clock: SteppingClock) -> None:
    keep(ws, None, 1, "Deploys are frozen until Friday.")
    assert staleness.check(ws).stale == 0
    clock.forward(days=6)
    assert staleness.check(ws) == staleness.Checked(stale=1)
    assert states(ws) == {"N1": ("stale", "it was valid until 2026-03-06")}


def test_a_day_that_is_put_off_has_not_come(ws: Workspace, clock: SteppingClock, memories: Path) -> None:
    keep(ws, None, 1, "Deploys are frozen until Friday.")
    clock.forward(days=6)
    staleness.check(ws)
    note = memories / "n1-00000001.md"
    note.write_text(note.read_text().replace("valid_to: 2026-03-06", "valid_to: 2026-03-16"))
    refresh.refresh(ws)
    assert staleness.check(ws).recovered == 1
    assert states(ws) == {"N1": THERE}


def test_a_persons_note_announces_a_day_by_its_words(
    ws: Workspace, shop: Path, memories: Path, clock: SteppingClock
) -> None:
    by_hand(ws, memories, "There is a code freeze until 2099-12-01.")
    staleness.check(ws, shop)
    assert states(ws) == {"own": THERE}
    clock.forward(days=365 * 80)
    staleness.check(ws, shop)
    assert states(ws) == {"own": ("stale", "it was valid until 2099-12-01")}
    staleness.check(ws)
    assert states(ws) == {"own": ("stale", "it was valid until 2099-12-01")}


# --- some at a time -----------------------------------------------------------------------------------------------


@pytest.fixture
def recorded_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that the repository was asked for."""
    asked: list[str] = []
    has_file = repository.Repository.has_file

    def counting(self: repository.Repository, path: str) -> bool | None:
        asked.append(path)
        return has_file(self, path)

    monkeypatch.setattr(repository.Repository, "has_file", counting)
    return asked


def test_a_look_is_bounded_and_the_next_goes_on_behind_it(
    ws: Workspace, shop: Path, recorded_calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 6):
        files(shop, {f"f{number}.py": ""})
        keep(ws, shop, number, f"Part {number} is in f{number}.py.")
    monkeypatch.setattr(staleness, "MOST_NOTES", 2)
    looks = []
    for _ in range(3):
        recorded_calls.clear()
        staleness.check(ws, shop)
        looks.append(list(recorded_calls))
    assert looks == [["f1.py", "f2.py"], ["f3.py", "f4.py"], ["f5.py", "f1.py"]]


def test_notes_that_are_not_ours_to_judge_do_not_hold_up_the_others(
    ws: Workspace, shop: Path, recorded_calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(ws, shop, 1, "Known to be old: src/auth.py", status="stale")
    keep(ws, shop, 2)
    monkeypatch.setattr(staleness, "MOST_NOTES", 1)
    staleness.check(ws, shop)
    staleness.check(ws, shop)
    assert recorded_calls == ["src/auth.py"]


def test_when_its_time_is_up_a_look_ends(
    ws: Workspace, shop: Path, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 6):
        keep(ws, shop, number, f"Tokens of kind {number} are checked in src/auth.py.")
    slow = repository.Repository.has_file

    def has_file(self: repository.Repository, path: str) -> bool | None:
        clock.forward(seconds=staleness.SECONDS / 2)
        return slow(self, path)

    monkeypatch.setattr(repository.Repository, "has_file", has_file)
    assert [staleness.check(ws, shop).looked for _ in range(3)] == [2, 2, 2]


def test_once_its_time_is_up_git_is_asked_nothing(committed: Path, clock: SteppingClock) -> None:
    late = repository.Repository(committed, {}, clock.ticks, clock.ticks())
    assert (late.has_file("gone.py"), late.has_symbol("gone.py", "gone_name")) == (None, None)


def test_folder_with_too_many_files_is_not_judged(ws: Workspace, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(ws, shop, 1)
    keep(ws, shop, 2, "verify_token is named in README.md", anchors=("README.md", "README.md#verify_token"))
    (shop / "src/auth.py").unlink()
    monkeypatch.setattr(repository, "MOST_WALKED", 1)
    files(shop, {"a": "", "b": ""})
    assert staleness.check(ws, shop).stale == 0
    monkeypatch.setattr(repository, "MOST_WALKED", 100)
    assert staleness.check(ws, shop).stale == 2


def test_a_search_in_files_ends_with_its_time(shop: Path, clock: SteppingClock) -> None:
    calls = iter([0.0, 0.0, 0.0, 9.0])
    folder = repository.Repository(shop, {}, lambda: next(calls), 1.0)
    assert folder.has_symbol("gone.py", "gone_name") is None


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    assert repository.read_source(tmp_path) == repository.read_source(tmp_path / "a\0b") == ""


# --- what is kept -------------------------------------------------------------------------------------------------


def test_record_of_a_missing_note_is_dropped(ws: Workspace, shop: Path, memories: Path) -> None:
    note = by_hand(ws, memories)
    staleness.check(ws, shop)
    assert "src/auth.py" in ws.home.stale_file.read_text()
    note.unlink()
    refresh.refresh(ws)
    staleness.check(ws, shop)
    assert "src/auth.py" not in ws.home.stale_file.read_text()


@pytest.mark.parametrize("text", ["rubbish", "[]", '{"v": 1}', '{"v": {"notes": {"x": {"y": 1}}}}'])
def test_damaged_record_is_recreated(ws: Workspace, shop: Path, memories: Path, text: str) -> None:
    by_hand(ws, memories)
    ws.home.stale_file.write_text(text)
    staleness.check(ws, shop)
    assert "src/auth.py" in ws.home.stale_file.read_text()


def test_the_record_is_private_and_not_written_again_for_nothing(ws: Workspace, shop: Path, memories: Path) -> None:
    by_hand(ws, memories)
    staleness.check(ws, shop)
    before = ws.home.stale_file.stat()
    assert before.st_mode & 0o777 == 0o600
    staleness.check(ws, shop)
    note_records.write_stale(ws.home.stale_file, "other", note_records.StaleRecord(), fsync=False)
    assert ws.home.stale_file.stat() == before


def test_vaults_do_not_forget_what_is_known_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "stale.json"
    one = note_records.StaleRecord({"x": note_records.StaleNote("f", ("a.py",))})
    note_records.write_stale(path, "one", one, fsync=False)
    note_records.write_stale(path, "two", note_records.StaleRecord({}, {"shop": "x"}), fsync=False)
    assert note_records.read_stale(path, "one") == one
    assert set(json.loads(path.read_bytes())) == {"one", "two"}


def test_a_note_that_cannot_be_changed_now_is_left_for_the_next_look(ws: Workspace, shop: Path) -> None:
    keep(ws, shop)
    note = ws.store.paths.memories / "n1-00000001.md"
    (note.parent / "copy.md").write_bytes(note.read_bytes())
    refresh.refresh(ws)
    (shop / "src/auth.py").unlink()
    staleness.check(ws, shop)
    assert states(ws) == {"N1": THERE}


# --- where it is told ---------------------------------------------------------------------------------------------


def test_status_counts_what_is_stale_and_check_says_why(ws: Workspace, shop: Path) -> None:
    keep(ws, shop)
    (shop / "src/auth.py").unlink()
    staleness.check(ws, shop)
    assert status.status(ws).stale == 1
    (finding,) = status.check(ws)
    assert (finding.problem, finding.serious) == ("is stale: src/auth.py is gone from shop", False)
    advice = "Correct the note, or run `memem forget 00000001`. It becomes active again once its files are back."
    assert finding.advice == advice


def test_a_note_whose_day_has_passed_gets_advice_about_its_date(ws: Workspace, clock: SteppingClock) -> None:
    keep(ws, None, 1, "Deploys are frozen until Friday.")
    clock.forward(days=6)
    staleness.check(ws)
    (finding,) = status.check(ws)
    assert finding.advice == "Correct the date if the note is still valid, or run `memem forget 00000001`."
