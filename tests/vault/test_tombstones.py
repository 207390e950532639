"""The file of tombstones: added to, never changed, and read whatever others have done to it."""

import json
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest

from memem.core import files
from memem.core.errors import VaultError, VaultUnwritable
from memem.core.home import VaultPaths
from memem.core.tombstone import Removal, Tombstone
from memem.vault.tombstones import Tombstones, name_of, read_lines
from tests.fakes import FaultyOs


def stone(key: str, salt: str, **more: object) -> Tombstone:
    made = Tombstone(key, salt, "2026-03-01T09:00:00+01:00", ("i" + key,), ("s" + key,), (1,), turns=("t" + key,))
    return replace(made, **more)  # type: ignore[arg-type]


@pytest.fixture
def paths(tmp_path: Path) -> VaultPaths:
    made = VaultPaths(tmp_path)
    made.ours.mkdir()
    return made


@pytest.fixture
def tombstones(paths: VaultPaths) -> Tombstones:
    return Tombstones(paths, fsync=False)


def test_a_vault_without_any_has_none(tombstones: Tombstones, paths: VaultPaths) -> None:
    assert not tombstones.load()
    assert not paths.tombstones.exists()


def test_the_salt_is_made_once(tombstones: Tombstones, paths: VaultPaths) -> None:
    name, salt = tombstones.salt()
    assert tombstones.salt() == (name, salt) == Tombstones(paths, fsync=False).salt()
    assert len(salt) == 16
    assert json.loads(paths.tombstones.read_bytes().splitlines()[0]) == {"salt": salt.hex()}


def test_what_is_added_is_known_by_text_id_and_turn(tombstones: Tombstones) -> None:
    name, salt = tombstones.salt()
    made = stone("1", name, purged=True)
    tombstones.add([made], salt)
    known = tombstones.load()
    assert known.standing == (made,)
    assert known.by_text == {"s1": [made]}
    assert known.by_id == {"i1": [made]}
    assert known.by_turn == {"t1": [made]}
    assert known.purged_turns == {"t1"}
    assert known.sizes == {1}


def test_a_lifting_ends_one_tombstone_and_leaves_a_later_one_of_the_same(tombstones: Tombstones) -> None:
    name, salt = tombstones.salt()
    first, second = stone("1", name, purged=True), stone("2", name, ids=("i1",))
    tombstones.add([first, second], salt)
    tombstones.lift([first], "2026-03-02")
    known = tombstones.load()
    assert known.standing == (second,)
    assert known.lifted == (first,)
    assert known.purged_turns == {"t1"}, "what was purged does not return to the transcript index"


def test_it_is_read_again_only_when_it_changed(tombstones: Tombstones, monkeypatch: pytest.MonkeyPatch) -> None:
    name, salt = tombstones.salt()
    tombstones.add([stone("1", name)], salt)
    known = tombstones.load()
    assert tombstones.load() is known
    tombstones.add([stone("2", name)], salt)
    assert len(tombstones.load().standing) == 2


def test_what_was_taken_out_is_known_without_reading_all_again(
    tombstones: Tombstones, paths: VaultPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    tombstones.salt()
    tombstones.load()
    with monkeypatch.context() as patched:
        patched.setattr("memem.vault.tombstones.read_file_lines", lambda _: pytest.fail("it was read again"))
        for number in range(3):
            tombstones.remove(Removal(f"k{number}", "hash", "2026-03-01T09:00:00+01:00"))
        assert [each.key for each in tombstones.load().removed["hash"]] == ["k0", "k1", "k2"]
    assert Tombstones(paths, fsync=False).load() == tombstones.load()


def test_what_another_wrote_in_between_is_known_too(tombstones: Tombstones, paths: VaultPaths) -> None:
    tombstones.salt()
    tombstones.load()
    other = Tombstones(paths, fsync=False)
    other.remove(Removal("k1", "one", "2026-03-01T09:00:00+01:00"))
    tombstones.remove(Removal("k2", "two", "2026-03-01T09:00:00+01:00"))
    assert set(tombstones.load().removed) == {"one", "two"}


def test_lines_of_another_file_are_taken_in_as_they_are(tombstones: Tombstones, tmp_path: Path) -> None:
    name, salt = tombstones.salt()
    tombstones.add([stone("a", name)], salt)
    (tmp_path / "other" / "memem").mkdir(parents=True)
    other = Tombstones(VaultPaths(tmp_path / "other"), fsync=False)
    other.take_in(tombstones.lines())
    assert (other.lines(), other.load()) == (tombstones.lines(), tombstones.load())


def test_a_torn_last_line_costs_that_line_alone(tombstones: Tombstones, paths: VaultPaths) -> None:
    name, salt = tombstones.salt()
    tombstones.add([stone("1", name)], salt)
    with paths.tombstones.open("ab") as file:
        file.write(b'{"tombstone": {"key": "2", "sal')
    tombstones.add([stone("3", name)], salt)
    assert [each.key for each in tombstones.load().standing] == ["1", "3"]


@pytest.mark.parametrize(
    "line", ["", "null", "[]", '{"salt": "zz"}', '{"tombstone": {}}', '{"tombstone": 5}', '{"other": 1}']
)
def test_what_is_not_understood_is_passed_over_and_survives(
    tombstones: Tombstones, paths: VaultPaths, line: str
) -> None:
    name, salt = tombstones.salt()
    with paths.tombstones.open("a") as file:
        file.write(f"{line}\n")
    tombstones.add([stone("1", name)], salt)
    assert [each.key for each in tombstones.load().standing] == ["1"]
    assert line in paths.tombstones.read_text().splitlines()


ODD: dict[str, list[Any]] = {
    "key": [5, None, ["k"]],
    "salt": [5, ["s"]],
    "time": [5, None],
    "ids": ["i", [["x"]], [5], {"i": 1}, None],
    "statements": ["s", [{}], [None]],
    "sizes": [["a"], [True], [1.5], [0], [-(10**12)], 3],
    "quotes": [[["q"]], "q"],
    "vague": [[{}]],
    "pieces": [[{}]],
    "turns": [[["t"]], "t"],
    "session": [5, []],
    "purged": [1, "no", None],
    "by_hand": [[], "yes"],
}


def odd_lines(salt: str) -> list[bytes]:
    """Tombstones that are complete, and each odd in one thing they state; and lines that are none at all."""
    told = [{**asdict(stone("odd", salt)), name: value} for name, values in ODD.items() for value in values]
    salts = ["", "00" * 8, "00" * 65, 5, ["00"]]
    others = [b"[" * 100_000, b"\xff\xfe", b'"salt"', b'["salt"]', b"5", b'{"tombstone": []}', b'{"removed": "i"}']
    lines = [*({"tombstone": each} for each in told), *({"salt": each} for each in salts)]
    return [*(json.dumps(line).encode() for line in lines), *others]


def test_every_field_has_its_odd_values_here() -> None:
    assert list(ODD) == [each.name for each in fields(Tombstone)]


@pytest.mark.parametrize("number", range(len(odd_lines(""))))
def test_what_is_not_of_its_type_is_passed_over(tombstones: Tombstones, paths: VaultPaths, number: int) -> None:
    name, salt = tombstones.salt()
    line = odd_lines(name)[number]
    tombstones.take_in([line])
    tombstones.add([stone("1", name)], salt)
    known = tombstones.load()
    assert ([each.key for each in known.standing], list(known.salts)) == (["1"], [name])
    assert line in paths.tombstones.read_bytes().splitlines()


def test_what_a_newer_memem_says_of_one_does_not_hide_it(tombstones: Tombstones, paths: VaultPaths) -> None:
    name, salt = tombstones.salt()
    tombstones.add([stone("1", name)], salt)
    text = paths.tombstones.read_text().replace('"purged":false', '"purged":false,"shade":"blue"')
    paths.tombstones.write_text(text)
    assert [each.key for each in tombstones.load().standing] == ["1"]


def test_copies_that_a_sync_made_all_count_with_their_own_salts(tombstones: Tombstones, paths: VaultPaths) -> None:
    name, salt = tombstones.salt()
    tombstones.add([stone("1", name)], salt)
    other = b"fedcba9876543210"
    copy = Tombstones(VaultPaths(paths.root / "elsewhere"), fsync=False)
    (paths.root / "elsewhere" / "memem").mkdir(parents=True)
    copy.add([stone("2", name_of(other))], other)
    written = paths.root / "elsewhere" / "memem" / ".tombstones.jsonl"
    written.rename(paths.ours / ".tombstones.sync-conflict-20260301.jsonl")
    known = tombstones.load()
    assert {each.key for each in known.standing} == {"1", "2"}
    assert known.salts == {name: salt, name_of(other): other}


def test_merged_lines_count_in_any_order() -> None:
    salt = bytes(16)
    made = {"tombstone": {"key": "1", "salt": name_of(salt), "time": "", "ids": ["i"], "statements": ["s"]}}
    lines = [json.dumps(each).encode() for each in ({"lifted": "1", "time": ""}, made, {"salt": salt.hex()})]
    assert [each.key for each in read_lines(lines).lifted] == ["1"]
    assert [each.key for each in read_lines(reversed(lines[1:])).standing] == ["1"]


def test_a_tombstone_whose_salt_is_lost_tells_nothing() -> None:
    made = {"tombstone": {"key": "1", "salt": "x", "time": "", "ids": ["i"], "statements": ["s"]}}
    assert not read_lines([json.dumps(made).encode()])


def test_one_that_cannot_be_read_is_no_reason_to_go_on_without(tombstones: Tombstones, paths: VaultPaths) -> None:
    tombstones.salt()
    paths.tombstones.unlink()
    paths.tombstones.mkdir()
    with pytest.raises(VaultError, match=r"Cannot read .*\.tombstones\.jsonl"):
        tombstones.load()


def test_a_full_disk_says_so(tombstones: Tombstones, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "os", FaultyOs(0))
    with pytest.raises(VaultUnwritable, match="Nothing was forgotten"):
        tombstones.salt()


def test_each_line_is_synced_where_that_is_asked_for(paths: VaultPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = FaultyOs()
    monkeypatch.setattr(files, "os", watched)
    Tombstones(paths, fsync=True).salt()
    assert "fsync file" in watched.calls
