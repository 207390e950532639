"""Weights are used when every byte is the published one, are looked for in order, and are hashed once."""

import errno
import hashlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from memem.core.errors import WeightsMissing
from memem.search.encoders import weights
from memem.search.encoders.weights import ModelFile, Places, WeightsFolder, find

CONTENT = {"vocab.txt": b"[PAD]\n[UNK]\n", "model.safetensors": b"tensors " * 10}
NAMES = tuple(CONTENT)
SOURCES = ("MEMEM_MODEL_DIR", "hub cache", "models")


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    published = [ModelFile(name, len(data), hashlib.sha256(data).hexdigest()) for name, data in CONTENT.items()]
    monkeypatch.setattr(weights, "FILES", tuple(published))


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(model_dir=tmp_path / "given", hub_cache=tmp_path / "hub", models=tmp_path / "home" / "models")


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were hashed."""
    paths: list[Path] = []
    real = weights.sha256_of

    def watched(path: Path) -> str:
        paths.append(path)
        return real(path)

    monkeypatch.setattr(weights, "sha256_of", watched)
    return paths


def fill(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in CONTENT.items():
        (folder / name).write_bytes(data)
    return folder


def folder_of(places: Places, source: str) -> Path:
    return dict(places.in_order())[source]


def complaint(places: Places) -> str:
    with pytest.raises(WeightsMissing) as raised:
        find(places)
    message = str(raised.value)
    assert "\n" not in message
    assert message.endswith("Run `memem index model fetch`.")
    return message


# --- where --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(SOURCES)))
def test_the_first_place_with_the_weights_is_used(places: Places, number: int) -> None:
    for source in SOURCES[number:]:
        fill(folder_of(places, source))
    found = find(Places(None, places.hub_cache, places.models) if number else places)
    assert (found.folder, found.source) == (folder_of(places, SOURCES[number]), SOURCES[number])
    assert found.problems == ()


def test_the_hub_cache_is_read_as_the_hubs_tools_fill_it(places: Places) -> None:
    repository = places.hub_cache / "models--sentence-transformers--all-MiniLM-L6-v2"
    snapshot = repository / "snapshots" / weights.REVISION
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    for name, data in CONTENT.items():
        (repository / "blobs" / f"blob-of-{name}").write_bytes(data)
        (snapshot / name).symlink_to(Path("..", "..", "blobs", f"blob-of-{name}"))
    assert find(Places(None, places.hub_cache, places.models)) == WeightsFolder(snapshot, "hub cache")


def test_another_revision_in_the_hub_cache_is_not_used(places: Places) -> None:
    fill(folder_of(places, "hub cache").with_name("0" * 40))
    assert "hub cache" not in complaint(Places(None, places.hub_cache, places.models))


def test_weights_that_are_nowhere_are_missed_in_one_line(places: Places) -> None:
    assert complaint(Places(None, places.hub_cache, places.models)) == (
        "The weights of sentence-transformers/all-MiniLM-L6-v2 were not found. Run `memem index model fetch`."
    )


# --- as published -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("source", SOURCES)
def test_one_wrong_byte_in_any_file_of_any_place_is_noticed(places: Places, source: str, name: str) -> None:
    path = fill(folder_of(places, source)) / name
    path.write_bytes(b"!" + CONTENT[name][1:])
    assert f"{source}: {path} is not the published file" in complaint(places)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", [-1, 1])
def test_a_file_of_another_size_is_noticed_without_hashing_it(
    places: Places, hashed: list[Path], name: str, change: int
) -> None:
    path = fill(places.own) / name
    os.truncate(path, len(CONTENT[name]) + change)
    assert f"{path} has {len(CONTENT[name]) + change} bytes instead of {len(CONTENT[name])}" in complaint(places)
    assert path not in hashed


@pytest.mark.parametrize("name", NAMES)
def test_one_missing_file_is_reported(places: Places, name: str) -> None:
    path = fill(places.own) / name
    path.unlink()
    assert f"models: {path} is missing" in complaint(places)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_in_place_of_a_file_is_reported(places: Places, name: str) -> None:
    path = fill(places.own) / name
    path.unlink()
    path.mkdir()
    assert f"{path} is not a file" in complaint(places)


def test_a_pipe_in_place_of_a_file_is_reported_without_waiting(places: Places) -> None:
    path = fill(places.own) / "model.safetensors"
    path.unlink()
    os.mkfifo(path)
    assert f"{path} is not a file" in complaint(places)


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_link_is_reported(places: Places, name: str) -> None:
    path = fill(folder_of(places, "hub cache")) / name
    path.unlink()
    path.symlink_to("../../blobs/gone")
    assert f"hub cache: {path} is a link to a file that is gone" in complaint(places)


def test_a_loop_of_links_is_reported(places: Places) -> None:
    places.own.mkdir(parents=True)
    for name in NAMES:
        (places.own / name).symlink_to(name)
    assert f"{places.own / NAMES[0]} cannot be read (too many levels of symbolic links)" in complaint(places)


def test_an_inaccessible_folder_is_reported(places: Places) -> None:
    places.models.mkdir(parents=True)
    places.own.symlink_to(places.own)
    assert f"models: {places.own / NAMES[0]} cannot be read" in complaint(places)


def test_an_unreadable_file_is_reported(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> str:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    fill(places.own)
    monkeypatch.setattr(weights, "sha256_of", refuse)
    assert f"{places.own / NAMES[0]} cannot be read (permission denied)" in complaint(places)


# --- MEMEM_MODEL_DIR ----------------------------------------------------------------------------------------------


def test_a_wrong_model_dir_is_passed_over_but_not_in_silence(places: Places) -> None:
    wrong = fill(folder_of(places, "MEMEM_MODEL_DIR")) / "vocab.txt"
    wrong.write_bytes(b"short")
    fill(places.own)
    found = find(places)
    assert found.source == "models"
    assert found.problems == (f"MEMEM_MODEL_DIR: {wrong} has 5 bytes instead of 12",)


@pytest.mark.parametrize("is_there", [True, False], ids=["an empty folder", "no folder"])
def test_an_empty_model_dir_is_reported(places: Places, is_there: bool) -> None:
    folder = folder_of(places, "MEMEM_MODEL_DIR")
    if is_there:
        folder.mkdir()
    fill(places.own)
    assert find(places).problems == (f"MEMEM_MODEL_DIR: {folder / 'vocab.txt'} is missing",)


def test_a_model_dir_that_is_a_file_is_reported(places: Places) -> None:
    folder = folder_of(places, "MEMEM_MODEL_DIR")
    folder.touch()
    assert f"MEMEM_MODEL_DIR: {folder / 'vocab.txt'} is missing" in complaint(places)


def test_every_place_with_wrong_files_is_reported(places: Places) -> None:
    for source in SOURCES:
        (fill(folder_of(places, source)) / "vocab.txt").write_bytes(b"short")
    message = complaint(places)
    assert all(f"{source}: {folder_of(places, source) / 'vocab.txt'} has 5 bytes" in message for source in SOURCES)


# --- hashed once --------------------------------------------------------------------------------------------------


def test_an_unchanged_file_is_hashed_once(places: Places, hashed: list[Path]) -> None:
    fill(places.own)
    assert find(places) == find(places)
    assert hashed == [places.own / name for name in NAMES]


def test_a_wrong_file_is_hashed_once_and_stays_wrong(places: Places, hashed: list[Path]) -> None:
    path = fill(places.own) / "vocab.txt"
    path.write_bytes(b"!" * path.stat().st_size)
    assert complaint(places) == complaint(places)
    assert hashed == [path]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_changes_is_hashed_again(places: Places, hashed: list[Path], name: str) -> None:
    path = fill(places.own) / name
    find(places)
    hashed.clear()
    path.write_bytes(b"!" * path.stat().st_size)
    os.utime(path, ns=(1, 1))
    assert f"{path} is not the published file" in complaint(places)
    assert hashed == [path]


def test_a_touched_file_is_hashed_again_once(places: Places, hashed: list[Path]) -> None:
    fill(places.own)
    find(places)
    hashed.clear()
    os.utime(places.own / "vocab.txt", ns=(1, 1))
    assert find(places) == find(places)
    assert hashed == [places.own / "vocab.txt"]


def test_a_file_that_is_replaced_is_hashed_again_though_its_times_are_the_same(
    places: Places, hashed: list[Path]
) -> None:
    path = fill(places.own) / "vocab.txt"
    find(places)
    before = path.stat()
    other = path.with_name("other")
    other.write_bytes(b"!" * before.st_size)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)
    assert f"{path} is not the published file" in complaint(places)


def test_a_link_that_leads_elsewhere_is_hashed_again(places: Places, tmp_path: Path, hashed: list[Path]) -> None:
    path = fill(places.own) / "vocab.txt"
    fill(tmp_path / "one")
    os.link(tmp_path / "one" / "vocab.txt", tmp_path / "two")  # the same file, under another name
    path.unlink()
    path.symlink_to(tmp_path / "one" / "vocab.txt")
    find(places)
    hashed.clear()
    path.unlink()
    path.symlink_to(tmp_path / "two")
    find(places)
    assert hashed == [path]


def test_a_checksum_of_a_changing_file_is_not_stored(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    real = weights.sha256_of

    def touched(path: Path) -> str:
        checksum = real(path)
        os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))
        return checksum

    monkeypatch.setattr(weights, "sha256_of", touched)
    fill(places.own)
    find(places)
    assert not places.record.exists()


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"%s": 7}', b'{"%s": []}', b'{"%s": ["x"]}', b"[" * 100_000],
    ids=lambda damage: damage[:12].decode("latin-1"),
)
def test_a_damaged_record_counts_as_empty(places: Places, hashed: list[Path], damage: bytes) -> None:
    path = fill(places.own) / "vocab.txt"
    places.record.write_bytes(damage.replace(b"%s", str(path).encode()))
    assert find(places).source == "models"
    assert len(hashed) == len(NAMES)
    find(places)
    assert len(hashed) == len(NAMES)


def test_a_record_that_cannot_be_written_costs_the_hashing_and_no_more(places: Places, hashed: list[Path]) -> None:
    fill(places.own)
    places.record.mkdir()
    assert find(places) == find(places)
    assert len(hashed) == 2 * len(NAMES)
    assert sorted(path.name for path in places.models.iterdir()) == [places.own.name, places.record.name]


def test_an_unwritable_home_is_not_an_error(places: Places, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    fill(folder_of(places, "hub cache"))
    assert find(Places(None, places.hub_cache, tmp_path / "file" / "models")).source == "hub cache"


def test_the_record_forgets_files_that_are_gone(places: Places) -> None:
    given = fill(folder_of(places, "MEMEM_MODEL_DIR"))
    find(places)
    for name in NAMES:
        (given / name).unlink()
    fill(places.own)
    find(places)
    assert set(json.loads(places.record.read_bytes())) == {str(places.own / name) for name in NAMES}


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_the_record_is_private(places: Places) -> None:
    fill(folder_of(places, "hub cache"))
    find(places)
    assert stat.S_IMODE(places.record.stat().st_mode) == 0o600
    assert stat.S_IMODE(places.models.stat().st_mode) == 0o700


def test_finding_loads_nothing_that_only_fetching_needs() -> None:
    heavy = "{'urllib.request', 'subprocess', 'portalocker'}"
    code = f"import sys, memem.search.encoders.weights; print(*{heavy} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(weights.__file__).parents[2]
    )
    assert done.stdout.strip() == ""
