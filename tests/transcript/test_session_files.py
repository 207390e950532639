"""The sessions of a person are found; those of subagents and of memem's own calls are not."""

import os
from pathlib import Path

import pytest

from memem.transcript.session import find_sessions


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    return tmp_path / "projects"


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}\n")
    return path


def test_sessions_are_found_in_order(projects: Path) -> None:
    names = ("z.jsonl", "-home-b/1.jsonl", "-home-b/0.jsonl", "-home-a/2.jsonl")
    for name in names:
        put(projects / name)
    assert list(find_sessions([projects])) == [projects / name for name in (names[0], names[3], names[2], names[1])]


def test_several_folders_are_searched_one_after_the_other(projects: Path) -> None:
    paths = [put(projects / "two" / "p" / "a.jsonl"), put(projects / "one" / "p" / "b.jsonl")]
    assert list(find_sessions([projects / "two", projects / "one"])) == paths


@pytest.mark.parametrize(
    "name",
    [
        "-home-a/s/subagents/agent-1.jsonl",
        "-home-a/s/x.jsonl",
        "-home-a/agent-1.jsonl",
        "-home-a/s.json",
        "-home-a/memory/MEMORY.md",
        "-home-a--memem-memem-calls/s.jsonl",
    ],
)
def test_other_files_are_not_sessions(projects: Path, name: str) -> None:
    put(projects / name)
    assert list(find_sessions([projects])) == []


def test_links_are_not_followed(projects: Path, tmp_path: Path) -> None:
    target = put(tmp_path / "elsewhere" / "s.jsonl")
    (projects / "-home-a").mkdir(parents=True)
    (projects / "-home-a" / "l.jsonl").symlink_to(target)
    (projects / "-home-l").symlink_to(target.parent)
    assert list(find_sessions([projects])) == []


def test_a_folder_named_like_a_session_is_none(projects: Path) -> None:
    (projects / "-home-a" / "s.jsonl").mkdir(parents=True)
    assert list(find_sessions([projects])) == []


def test_folders_that_are_not_there_or_cannot_be_read_are_passed_over(
    projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = put(projects / "-home-b" / "s.jsonl")
    put(projects / "-home-a" / "s.jsonl")
    scandir = os.scandir

    def guarded(path: Path) -> object:
        if Path(path).name == "-home-a":
            raise PermissionError(13, "no", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    assert list(find_sessions([projects / "gone", projects])) == [found]
