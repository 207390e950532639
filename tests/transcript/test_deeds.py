"""Calls and their results, wherever these come: only what succeeded was done, and none of it by memem."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.transcript.deeds import COMMAND, MAX_TARGET_CHARS, OTHER, READ, WRITTEN, Deed, DeedReader
from memem.transcript.work import Result, ToolCall, Work

REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def follow(*works: Work, earlier: Sequence[ToolCall] = ()) -> list[Deed]:
    reader = DeedReader(str, lambda: earlier)
    return [deed for work in works for deed in reader.follow(work)]


def edit(identity: str, path: str, tool: str = "Edit") -> Work:
    return Work(calls=(ToolCall(identity, tool, path, "/srv/shop"),))


def bash(command: str, output: str = "", *, is_error: bool = False) -> list[Deed]:
    call = ToolCall("t", "Bash", command, "/srv/shop")
    return follow(Work(calls=(call,)), Work(results=(Result("t", output, is_error),)))


def result(identity: str, text: str = "", *, is_error: bool = False) -> Work:
    return Work(results=(Result(identity, text, is_error),))


@pytest.mark.parametrize("tool", ["Edit", "Write", "MultiEdit", "NotebookEdit"])
def test_a_file_is_written_once_its_edit_succeeded(tool: str) -> None:
    assert follow(edit("1", "/srv/shop/a.py", tool)) == []
    (deed,) = follow(edit("1", "/srv/shop/a.py", tool), result("1"))
    assert (deed.kind, deed.target, deed.folder) == (WRITTEN, "/srv/shop/a.py", "/srv/shop")


@pytest.mark.parametrize(
    "text",
    [
        REFUSED,
        "<tool_use_error>String to replace not found in file.\nString: x = error</tool_use_error>",
        "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>",
        "Claude requested permissions to write to /srv/shop/a.py, but you haven't granted it yet.",
    ],
)
def test_an_edit_that_was_refused_or_missed_its_target_leaves_nothing(text: str) -> None:
    assert follow(edit("1", "/srv/shop/a.py"), result("1", text, is_error=True)) == []


def test_an_edit_that_failed_otherwise_leaves_its_error() -> None:
    (deed,) = follow(edit("1", "/srv/shop/a.py"), result("1", "EACCES: permission denied", is_error=True))
    assert (deed.kind, deed.errors) == (OTHER, ("EACCES: permission denied",))


def test_a_file_that_does_not_exist_was_not_read() -> None:
    assert [deed.kind for deed in follow(edit("1", "a.py", "Read"), result("1", "1→x"))] == [READ]
    assert follow(edit("1", "a.py", "Read"), result("1", "File does not exist.", is_error=True)) == []


def test_a_call_of_an_earlier_reading_is_looked_up_once() -> None:
    lookups = 0

    def earlier() -> list[ToolCall]:
        nonlocal lookups
        lookups += 1
        return [ToolCall("1", "Write", "a.py"), ToolCall("2", "Write", "b.py")]

    reader = DeedReader(str, earlier)
    works = [result("1"), result("unknown", "Boom", is_error=True), result("2")]
    assert [deed.target for work in works for deed in reader.follow(work)] == ["a.py", "b.py"]
    assert lookups == 1


def test_calls_that_may_not_be_used_are_forgotten() -> None:
    reader = DeedReader(str, lambda: [ToolCall("2", "Write", "b.py")])
    reader.follow(edit("1", "a.py"))
    reader.forget()
    assert [*reader.follow(result("1")), *reader.follow(result("2"))] == []


_identities = st.sampled_from("abc")
_steps = st.one_of(
    st.tuples(st.just("call"), _identities, st.sampled_from(["Edit", "Write", "Read", "Bash", "mcp__memem__save"])),
    st.tuples(st.just("result"), _identities, st.sampled_from(["", "Boom", REFUSED])),
)


@given(st.lists(_steps, max_size=40))
def test_in_any_order_only_what_succeeded_after_its_call_was_written(steps: list[tuple[str, str, str]]) -> None:
    calls: dict[str, tuple[str, str]] = {}
    expected, works = list[str](), list[Work]()
    for number, (kind, identity, detail) in enumerate(steps):
        if kind == "call":
            calls[identity] = (detail, f"file{number}")
            works.append(edit(identity, f"file{number}", detail))
        else:
            works.append(result(identity, detail, is_error=bool(detail)))
            tool, file = calls.get(identity, ("", ""))
            if tool in ("Edit", "Write") and not detail:
                expected.append(file)
    deeds = follow(*works)
    assert [deed.target for deed in deeds if deed.kind == WRITTEN] == expected


@given(st.permutations(range(12)), st.permutations(range(12)))
def test_results_may_come_in_another_order_than_calls(calls: list[int], results: list[int]) -> None:
    works = [edit(str(number), f"{number}.py") for number in calls] + [result(str(number)) for number in results]
    assert [deed.target for deed in follow(*works)] == [f"{number}.py" for number in results]


@pytest.mark.parametrize(
    ("output", "is_error", "outcome"),
    [
        ("done", False, "ok"),
        ("Exit code 2\nmake: *** [all] Error 2", True, "failed (2)"),
        ("Command timed out after 2m 0s", True, "failed"),
        (REFUSED, True, "rejected"),
        ("Permission to use Bash with command make has been denied.", True, "rejected"),
        ("Command running in background with ID: b1", False, "started"),
        ("1 failed, 2 passed in 0.10s", False, "failed"),
    ],
)
def test_a_command_has_its_outcome(output: str, is_error: bool, outcome: str) -> None:
    assert [(deed.kind, deed.target, deed.outcome) for deed in bash("make all", output, is_error=is_error)] == [
        (COMMAND, "make all", outcome)
    ]


@pytest.mark.parametrize("command", ["make all | grep x", "make all || true", "make all; echo $?"])
def test_an_exit_code_of_another_command_is_no_success(command: str) -> None:
    assert [deed.outcome for deed in bash(command)] == ["ran"]
    assert [deed.outcome for deed in bash(command, "3 passed in 0.10s")] == ["ok"]
    assert [deed.outcome for deed in bash(command, "1 failed, 2 passed in 0.10s")] == ["failed"]


def test_a_command_is_the_same_whatever_shortens_its_output() -> None:
    outputs = ["", " 2>&1", " 2>&1 | tail -30", " | head -n 5"]
    assert {deed.target for each in outputs for deed in bash(f"make all{each}")} == {"make all"}


def test_a_command_is_one_line_with_the_first_one_that_it_reads() -> None:
    (commit,) = bash("git commit -m \"$(cat <<'EOF'\nFix the basket\n\nAt length.\nEOF\n)\"")
    (script,) = bash("set -e\nmake\nmake install")
    assert commit.target == "git commit -m \"$(cat <<'EOF' Fix the basket"
    assert script.target == "set -e"


@pytest.mark.parametrize(
    "command", ["ls -la", "cd web && git status", "grep -rn 'a|b; c' . | head -5", "cat x 2>/dev/null || echo none"]
)
def test_a_look_counts_only_if_it_fails(command: str) -> None:
    assert bash(command, "x") == []
    assert [deed.outcome for deed in bash(command, "Exit code 1\nls: x: No such file", is_error=True)] == ["failed (1)"]


@pytest.mark.parametrize("command", ["echo x > a.txt", "ls | xargs rm", "git branch; git push", "cat <<E >a\nx\nE"])
def test_a_command_that_changes_something_is_no_look(command: str) -> None:
    assert len(bash(command)) == 1


@pytest.mark.parametrize(
    "command",
    [
        "memem save 'Use pnpm.'",
        "cd /srv/shop && memem status",
        "MEMEM_DIR=/tmp/x ~/.local/bin/memem mine --all",
        "python3 -m memem.server --doctor",
        "echo {} | bash /opt/plugin/hooks/memem Stop",
        "x=$(memem search auth)",
    ],
)
def test_commands_of_memem_are_left_out_with_all_they_print(command: str) -> None:
    assert bash(command, "Exit code 1\nerror: 3 failed, 4 passed in 1.2s", is_error=True) == []
    assert follow(Work(commands=(command,))) == []


@pytest.mark.parametrize("command", ["make memem", "rm -r memem", "git commit -m 'memem: fix'", "./memem/build.sh"])
def test_commands_about_memem_stay(command: str) -> None:
    assert len(bash(command)) == 1


@pytest.mark.parametrize("tool", ["mcp__plugin_memem_memem__memory_save", "mcp__memem__memory_search"])
def test_tools_of_memem_are_left_out(tool: str) -> None:
    assert follow(Work(calls=(ToolCall("1", tool),)), result("1", "Error: vault not found", is_error=True)) == []


def test_an_error_of_a_hook_of_memem_is_left_out() -> None:
    output = "Exit code 1\nKeyError: 'x'\nPostToolUse hook [/p/hooks/memem PostToolUse] failed"
    assert [deed.errors for deed in bash("make", output, is_error=True)] == [("KeyError: 'x'",)]


def test_tests_of_a_background_command_count() -> None:
    deeds = follow(edit("1", "", "BashOutput"), result("1", "===== 3 passed in 0.12s ====="))
    assert [str(deed.tests) for deed in deeds] == ["3 passed"]


def test_output_of_other_tools_has_no_test_counts() -> None:
    assert [deed.tests for deed in follow(edit("1", "log.txt", "Read"), result("1", "3 passed in 0.12s"))] == [None]


def test_secrets_are_removed_before_anything_is_cut() -> None:
    texts = list[str]()
    reader = DeedReader(lambda text: texts.append(text) or text.replace("KEY", "-"))  # type: ignore[func-returns-value]
    lines = "\n".join(f"error {number} KEY" for number in range(100))
    work = Work(calls=(ToolCall("1", "Bash", "make KEY\nmore"),), results=(Result("1", lines, is_error=True),))
    (deed,) = reader.follow(work)
    assert (deed.target, deed.errors) == ("make -", ("error 97 -", "error 98 -", "error 99 -"))
    assert texts == [lines, "make KEY\nmore"]


def test_the_last_word_of_a_command_that_is_cut_is_dropped() -> None:
    (deed,) = bash("make " * (MAX_TARGET_CHARS // 5) + "x" * 99)
    assert set(deed.target.split()) == {"make"}
    assert [each.target for each in bash("x" * 9_999)] == [""]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/srv/shop/web/a.ts", "web/a.ts"),
        ("/srv/shopping/a.ts", "a.ts"),
        ("/home/ada/notes/b.md", "~/notes/b.md"),
        ("/Users/ada/.zshrc", "~/.zshrc"),
        ("/home/me/.ssh/config", "~/.ssh/config"),
        ("/etc/hosts", "hosts"),
        ("web/a.ts", "web/a.ts"),
        ("./a.ts", "a.ts"),
        (r"C:\work\shop\web\a.ts", "web/a.ts"),
        (r"C:\Users\ada\a.ts", "~/a.ts"),
        (r"D:\other\a.ts", "a.ts"),
        ("", ""),
    ],
)
def test_a_path_is_relative_to_the_project(path: str, shown: str) -> None:
    assert Deed(WRITTEN, path).seen_from(("/srv/shop", r"C:\work\shop")).target == shown


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("cd /srv/shop && make", "make"),
        ("cd /srv/shop/web && make", "cd web && make"),
        ("pytest /srv/shop/tests/a.py /srv/shop", "pytest tests/a.py ."),
        ("ls /srv/shop-old /data/srv/shop/x", "ls /srv/shop-old /data/srv/shop/x"),
        ("cp /home/ada/x.env /Users/eve", "cp ~/x.env ~"),
    ],
)
def test_paths_in_commands_and_errors_are_relative(command: str, shown: str) -> None:
    seen = Deed(COMMAND, command, errors=(command,)).seen_from(("/srv/shop",))
    assert (seen.target, seen.errors) == (shown, (shown,))


def test_a_file_outside_the_project_is_seen_from_the_folder_of_its_call() -> None:
    assert Deed(WRITTEN, "/tmp/try/a.py", "/tmp/try").seen_from(("/srv/shop",)).target == "a.py"  # noqa: S108


@given(st.text(max_size=80), st.lists(st.text(max_size=20), max_size=3))
def test_any_text_is_shown_from_anywhere(text: str, roots: list[str]) -> None:
    for kind in (COMMAND, WRITTEN):
        Deed(kind, text, errors=(text,)).seen_from(roots)
