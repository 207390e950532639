"""The work in a few lines: each thing once, the most telling first, and never more than there is room for."""

from hypothesis import given
from hypothesis import strategies as st

from memem.transcript.deeds import COMMAND, FAILED, OK, OTHER, READ, REJECTED, WRITTEN, Deed
from memem.transcript.digest import digest
from memem.transcript.outcomes import TestCounts as Counts


def test_what_was_written_comes_first_and_what_was_read_last() -> None:
    deeds = [
        Deed(READ, "b.py"),
        Deed(COMMAND, "make test", outcome="failed (2)", tests=Counts("pytest", 3, 40), errors=("KeyError: 'x'",)),
        Deed(WRITTEN, "a.py"),
        Deed(COMMAND, "make test", outcome=OK, tests=Counts("pytest", 1, 42)),
        Deed(COMMAND, "make test", outcome=OK, tests=Counts("pytest", 0, 43)),
        Deed(COMMAND, "git push", outcome=REJECTED),
        Deed(READ, "a.py"),
        Deed(OTHER, errors=("KeyError: 'x'", "no such host")),
    ]
    assert digest(deeds) == (
        "files written: a.py\n"
        "tests: 3 failed, 40 passed -> 43 passed\n"
        "commands:\n- make test: failed (2) -> ok\n- git push: rejected\n"
        "errors:\n- KeyError: 'x'\n- no such host\n"
        "files read: b.py"
    )


def test_without_work_there_is_nothing_to_tell() -> None:
    assert digest([]) == digest([Deed(WRITTEN), Deed(COMMAND, outcome=OK), Deed(OTHER)]) == ""


def test_runners_are_named_if_there_are_several() -> None:
    deeds = [Deed(OTHER, tests=Counts("pytest", 0, 4)), Deed(OTHER, tests=Counts("go test", 1, 2, "packages"))]
    assert digest(deeds) == "tests: pytest: 4 passed; go test: 1 failed, 2 passed (packages)"


def test_of_many_outcomes_the_first_and_the_last_are_shown() -> None:
    deeds = [Deed(COMMAND, "make", outcome=each) for each in (FAILED, OK, OK, FAILED, OK)]
    assert digest(deeds) == "commands:\n- make: failed -> … -> ok"


def test_a_command_of_a_person_has_no_outcome() -> None:
    assert digest([Deed(COMMAND, "make")]) == "commands:\n- make"


def test_many_files_leave_room_for_the_rest() -> None:
    files = [Deed(WRITTEN, f"file{number}.py") for number in range(999)]
    text = digest([*files, Deed(COMMAND, "make", outcome=FAILED, errors=("No such file",))])
    assert text.startswith("files written: file")
    assert text.endswith(", file998.py\ncommands:\n- make: failed\nerrors:\n- No such file")
    assert 1_180 < len(text) <= 1_200


def test_the_latest_commands_are_kept() -> None:
    text = digest([Deed(COMMAND, f"make target{number}", outcome=OK) for number in range(500)])
    assert "target499" in text
    assert "target1:" not in text


_words = st.text(max_size=60)
_counts = st.none() | st.builds(Counts, st.sampled_from(["a", "b"]), st.integers(0, 9), st.integers(0, 9))
_deeds = st.builds(
    Deed,
    st.sampled_from([WRITTEN, READ, COMMAND, OTHER]),
    _words,
    outcome=_words,
    tests=_counts,
    errors=st.lists(_words, max_size=3).map(tuple),
)


@given(st.lists(_deeds, max_size=30), st.integers(0, 1_500))
def test_it_is_never_longer_than_wanted(deeds: list[Deed], most: int) -> None:
    text = digest(deeds, most)
    assert len(text) <= most
    assert "" not in text.split("\n")[1:]


@given(st.lists(_deeds, max_size=30))
def test_a_file_is_either_written_or_read(deeds: list[Deed]) -> None:
    lines = dict(line.split(": ", 1) for line in digest(deeds, 100_000).split("\n") if line.startswith("files "))
    written = {" ".join(deed.target.split()) for deed in deeds if deed.kind == WRITTEN}
    read = {" ".join(deed.target.split()) for deed in deeds if deed.kind == READ}
    assert ("files written" in lines) == bool(written - {""})
    assert ("files read" in lines) == bool(read - written - {""})
