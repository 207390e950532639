"""Read the output of commands: counts of tests, and the lines that name what is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.transcript.outcomes import (
    count_tests,
    find_errors,
    hides_exit_code,
    is_look,
    is_own,
    without_escapes,
    without_shortening,
)

CLOSINGS = {
    "pytest": ("F..\n=========== 3 failed, 40 passed, 2 skipped, 1 error in 12.34s ===========", (4, 40)),
    "pytest -q": ("43 passed, 1 warning in 0.12s", (0, 43)),
    "unittest": ("Ran 43 tests in 0.012s\n\nFAILED (failures=3, errors=1, skipped=2)", (4, 37)),
    "unittest ok": ("..\n-----\nRan 2 tests in 0.000s\n\nOK", (0, 2)),
    "jest": ("Test Suites: 1 failed, 4 total\nTests:       3 failed, 2 skipped, 40 passed, 45 total", (3, 40)),
    "vitest": (" Test Files  1 failed | 3 passed (4)\n      Tests  3 failed | 40 passed (43)\n", (3, 40)),
    "go": (
        "--- FAIL: TestX (0.00s)\nok  \ta/b\t(cached)\nok  \ta/c\t0.1s\nFAIL\ta/d\t0.2s\n?   \ta/e\t[no test files]",
        (1, 2),
    ),
    "gotestsum": ("DONE 43 tests, 1 skipped, 2 failures in 3.1s", (2, 40)),
    "cargo": (
        "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured\n\n   Doc-tests x\n\n"
        "test result: FAILED. 3 passed; 2 failed; 0 ignored",
        (2, 15),
    ),
    "nextest": ("     Summary [   0.5s] 43 tests run: 40 passed, 3 failed, 1 skipped", (3, 40)),
    "mocha": ("  40 passing (1s)\n  1 pending\n  3 failing\n", (3, 40)),
    "rspec": ("43 examples, 3 failures, 1 pending", (3, 39)),
    "minitest": ("43 runs, 90 assertions, 2 failures, 1 errors, 0 skips", (3, 40)),
    "phpunit": ("FAILURES!\nTests: 43, Assertions: 100, Failures: 2, Errors: 1, Skipped: 1.", (3, 39)),
    "phpunit ok": ("OK (43 tests, 100 assertions)", (0, 43)),
    "pest": ("  Tests:    3 failed, 40 passed (100 assertions)", (3, 40)),
    "maven": (
        "Tests run: 9, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 1 s - in A\n"
        "[INFO] \n[ERROR] Tests run: 43, Failures: 2, Errors: 1, Skipped: 1\n",
        (3, 39),
    ),
    "gradle": ("43 tests completed, 3 failed, 1 skipped", (3, 39)),
    "dotnet": ("Failed!  - Failed:     3, Passed:    40, Skipped:     0, Total:    43, Duration: 1 s", (3, 40)),
    "dotnet summary": ("Test summary: total: 43, failed: 3, succeeded: 40, skipped: 0, duration: 1s", (3, 40)),
    "node": ("# tests 43\n# suites 0\n# pass 40\n# fail 3\n# cancelled 0", (3, 40)),
    "mix": ("2 doctests, 43 tests, 3 failures, 1 skipped", (3, 39)),
    "xctest": ("\t Executed 43 tests, with 3 failures (0 unexpected) in 0.1 (0.2) seconds", (3, 40)),
}


@pytest.mark.parametrize("runner", CLOSINGS)
def test_the_closing_counts_of_a_runner_are_read(runner: str) -> None:
    text, expected = CLOSINGS[runner]
    counts = count_tests(f"collected\n{text}\nsee the log\n")
    assert counts
    assert (counts.failed, counts.passed) == expected


def test_colours_do_not_hide_counts() -> None:
    assert str(count_tests(without_escapes("\x1b[31m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m in 0.1s"))) == (
        "1 failed, 2 passed"
    )


def test_of_several_runs_the_last_one_counts() -> None:
    texts = [CLOSINGS[name][0] for name in ("mocha", "pytest", "pytest -q")]
    assert str(count_tests("\n".join(texts))) == "43 passed"
    assert str(count_tests("\n".join(reversed(texts)))) == "3 failed, 40 passed"


@pytest.mark.parametrize(
    "text", ["", "3 files in 2.1s", "Tests:", "ok", "ok then", "FAIL", "all 40 passed", "I ran 3 tests in my head"]
)
def test_other_text_has_no_counts(text: str) -> None:
    assert count_tests(text) is None


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (
            "Exit code 1\nTraceback (most recent call last):\n"
            '  File "/usr/lib/python3.12/site-packages/x/y.py", line 3, in run\n    go()\n    ^^^^\n'
            "KeyError: 'name'\n\n",
            ["KeyError: 'name'"],
        ),
        (
            "Exit code 1\nnpm ERR! code ELIFECYCLE\nnpm ERR! errno 1\n"
            "src/a.ts(3,5): error TS2304: Cannot find name 'x'.\n"
            "npm ERR! A complete log of this run can be found in:\nnpm ERR!     /home/ada/.npm/_logs/x.log",
            ["src/a.ts(3,5): error TS2304: Cannot find name 'x'."],
        ),
        ('Exit code 1\nnpm ERR! Missing script: "tset"\n', ['npm ERR! Missing script: "tset"']),
        (
            "TypeError: x is undefined\n    at f (/srv/node_modules/a/b.js:1:2)\n    at node:internal/x:3:4\n",
            ["TypeError: x is undefined"],
        ),
        (
            "Downloading failed.whl 100%|████| 3/3\n  45% [=====>   ]\nERROR: no   matching\tversion\n",
            ["ERROR: no matching version"],
        ),
        ("Exit code 1", []),
        ("Exit code 128\n\nhm\nwhat was that", ["what was that"]),
        ("error: a\nerror: b\nerror: b\n  error:   b \nerror: c\nerror: d\ndone", ["error: b", "error: c", "error: d"]),
        ("--- FAIL: TestX (0.03s)", ["--- FAIL: TestX"]),
        ("error: " + "x" * 999, ["error: " + "x" * 193]),
    ],
)
def test_the_last_lines_that_name_what_is_wrong_are_kept(output: str, expected: list[str]) -> None:
    assert list(find_errors(output)) == expected


_pieces = st.sampled_from(
    [
        *(text for text, _ in CLOSINGS.values()),
        *(
            " ",
            "\n",
            "\t",
            "a",
            "1",
            "9" * 30,
            "error",
            "%",
            "=",
            "█",
            "\x1b[",
            "'",
            '"',
            "&&",
            "|",
            ";",
            "ls",
            "memem",
            "cd ",
            ">",
            "npm ERR!",
        ),
    ]
)


@given(st.lists(_pieces | st.text(max_size=5), max_size=40).map("".join))
def test_any_output_is_read(text: str) -> None:
    counts = count_tests(without_escapes(text))
    assert counts is None or (counts.failed >= 0 and counts.passed >= 0)
    assert all(line and len(line) <= 200 and "\n" not in line for line in find_errors(text))
    assert len(without_shortening(text)) <= len(text)
    assert {is_own("Bash", text), is_look(text), hides_exit_code(text)} <= {True, False}
