"""The work in a few lines: each thing once, in order, and never more than there is room for."""

from hypothesis import given
from hypothesis import strategies as st

from memem.transcript.session import digest
from memem.transcript.turns import Work


def test_work_is_listed_in_labelled_lines() -> None:
    works = [
        Work(files=("a.py", "b.py"), commands=("git log",)),
        Work(files=("b.py", "c.py"), errors=("Exit code 1\nNo such file",)),
        Work(commands=("make", "git log")),
    ]
    assert digest(works) == (
        "files touched: a.py, b.py, c.py\ncommands run: git log; make\nerrors seen: Exit code 1 No such file"
    )


def test_without_work_there_is_nothing_to_tell() -> None:
    assert digest([]) == digest([Work(), Work(files=("",))]) == ""


def test_empty_kinds_have_no_line() -> None:
    assert digest([Work(commands=("make",))]) == "commands run: make"


def test_many_files_leave_room_for_an_error() -> None:
    text = digest(
        [Work(files=tuple(f"file{number}.py" for number in range(999)), errors=("No such file",))], max_chars=200
    )
    assert text.startswith("files touched: file0.py, file1.py, ")
    assert text.endswith("\nerrors seen: No such file")


def test_commands_get_the_space_that_files_leave() -> None:
    commands = tuple(f"make target{number}" for number in range(15))
    assert digest([Work(files=("a.py",), commands=commands)], max_chars=600).count("make") == 15


_items = st.lists(st.text(max_size=60), max_size=8).map(tuple)


@given(st.lists(st.builds(Work, _items, _items, _items), max_size=6), st.integers(0, 600))
def test_it_is_never_longer_than_wanted(works: list[Work], most: int) -> None:
    text = digest(works, most)
    assert len(text) <= most
    assert text.count("\n") <= 2
