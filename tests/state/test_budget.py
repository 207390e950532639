"""The cost of calls: hard daily limits, a ledger of every call, and a pause after repeated failures."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import memem
from memem.core.errors import BudgetSpent, Usage
from memem.state.calls import MIN_CALL_DOLLARS, Ledger, Limits, Spending
from memem.state.database import State

TODAY, TOMORROW = "2026-03-01", "2026-03-02"
PLENTY = Limits(1_000, 1_000.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "state.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with closing(State(path, fsync=False)) as state:
        yield state.ledger


def ask(ledger: Ledger, cost: float, *, day: str = TODAY, session: str = "s1", limits: Limits = PLENTY) -> None:
    ledger.settle(ledger.reserve(day, session, limits), "answered", Usage(100, 10, cost))


# --- the limits ---------------------------------------------------------------------------------------------------


def test_a_day_has_so_many_calls_and_no_more(ledger: Ledger) -> None:
    limits = Limits(2, 1_000.0)
    ask(ledger, 0.0, limits=limits)
    ask(ledger, 0.0, limits=limits)
    with pytest.raises(BudgetSpent, match=r"^Today's limit of 2 calls has been reached \(MEMEM_DAILY_CALLS\)\.$"):
        ledger.reserve(TODAY, "s2", limits)
    assert ledger.spent(TODAY).calls == 2, "what was refused is not counted"


def test_a_day_has_so_many_dollars_and_no_more(ledger: Ledger) -> None:
    limits = Limits(1_000, 0.5)
    ask(ledger, 0.2, limits=limits)
    ask(ledger, 0.2, limits=limits)
    with pytest.raises(BudgetSpent, match=r"^Today's limit of \$0\.50 has been reached \(MEMEM_DAILY_USD\)\.$"):
        ledger.reserve(TODAY, "s1", limits)


def test_a_limit_of_one_call_is_named_in_the_singular(ledger: Ledger) -> None:
    ask(ledger, 0.0, limits=Limits(1, 1.0))
    assert (
        ledger.limit_reached(TODAY, Limits(1, 1.0)) == "Today's limit of 1 call has been reached (MEMEM_DAILY_CALLS)."
    )


@pytest.mark.parametrize("limits", [Limits(0, 1.0), Limits(1, 0.0)])
def test_nothing_allowed_is_nothing_asked(ledger: Ledger, limits: Limits) -> None:
    with pytest.raises(BudgetSpent):
        ledger.reserve(TODAY, "s1", limits)


def test_tomorrow_is_another_day(ledger: Ledger) -> None:
    limits = Limits(1, 1.0)
    ask(ledger, 5.0, limits=limits)
    ledger.reserve(TOMORROW, "s1", limits)


def test_a_call_counts_from_before_it_is_made(ledger: Ledger) -> None:
    ledger.reserve(TODAY, "s1", PLENTY)
    assert ledger.spent(TODAY) == Spending(1, 0, 0, MIN_CALL_DOLLARS)


def test_a_call_whose_miner_was_killed_still_counts(path: Path) -> None:
    with closing(State(path, fsync=False)) as killed:
        killed.ledger.reserve(TODAY, "s1", PLENTY)
    with closing(State(path, fsync=False)) as state, pytest.raises(BudgetSpent):
        state.ledger.reserve(TODAY, "s2", Limits(1, 1.0))


def test_two_miners_cannot_both_have_the_last_call(ledger: Ledger, path: Path) -> None:
    with closing(State(path, fsync=False)) as other:
        other.ledger.reserve(TODAY, "s2", Limits(1, 1.0))
        with pytest.raises(BudgetSpent):
            ledger.reserve(TODAY, "s1", Limits(1, 1.0))


def test_however_many_ask_at_once_the_limit_holds(ledger: Ledger, path: Path) -> None:
    begin = threading.Barrier(8)
    got: list[bool] = []

    def try_often() -> None:
        with closing(State(path, fsync=False)) as own:
            begin.wait()
            for _ in range(5):
                try:
                    own.ledger.reserve(TODAY, "s1", Limits(7, 1_000.0))
                except BudgetSpent:
                    got.append(False)
                else:
                    got.append(True)

    threads = [threading.Thread(target=try_often) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (got.count(True), len(got)) == (7, 40)
    assert ledger.spent(TODAY).calls == 7


RESERVING = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from memem.core.errors import BudgetSpent
from memem.core.errors import Usage
from memem.state.calls import Limits
from memem.state.database import State
state = State(Path(sys.argv[2]), fsync=False)
sys.stdin.read()
got = 0
while got < 50:
    try:
        number = state.ledger.reserve("2026-03-01", "s1", Limits(1_000, 1.01))
    except BudgetSpent:
        break
    got += 1
    if got % 3:  # the others are killed before they can say what it was
        state.ledger.settle(number, "answered", Usage(1, 1, 0.05))
print(got)
"""


def test_twenty_processes_at_once_spend_no_dollar_more_than_a_day_has(ledger: Ledger, path: Path) -> None:
    ask(ledger, 0.05)
    command = [sys.executable, "-I", "-S", "-c", RESERVING, str(Path(memem.__file__).parents[1]), str(path)]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(20)]
    for process in processes:
        assert process.stdin
        process.stdin.close()
        process.stdin = None
    got = sum(int(process.communicate()[0]) for process in processes)
    assert ledger.spent(TODAY).calls == got + 1 == 20
    assert ledger.spent(TODAY).dollars == pytest.approx(1.0)


def test_a_call_counts_as_much_as_the_dearest_of_its_day_until_it_is_told(ledger: Ledger) -> None:
    ask(ledger, 0.3)
    ask(ledger, 0.1)
    ledger.reserve(TODAY, "s1", PLENTY)
    assert ledger.spent(TODAY).dollars == pytest.approx(0.7)


def test_what_nobody_tells_the_cost_of_stays_what_it_was_reckoned_at(ledger: Ledger) -> None:
    ledger.settle(ledger.reserve(TODAY, "s1", PLENTY), "answered", Usage(7, 1, None))
    assert ledger.spent(TODAY) == Spending(1, 7, 1, MIN_CALL_DOLLARS)


def test_a_cli_that_never_tells_what_it_costs_is_stopped_all_the_same(ledger: Ledger) -> None:
    limits = Limits(1_000, 0.505)
    for _ in range(50):
        ledger.settle(ledger.reserve(TODAY, "s1", limits), "answered", Usage(7, 1, None))
    with pytest.raises(BudgetSpent, match="MEMEM_DAILY_USD"):
        ledger.reserve(TODAY, "s1", limits)


def test_a_call_that_cost_more_than_a_day_has_leaves_the_next_day_as_it_is(ledger: Ledger) -> None:
    limits = Limits(10, 1.0)
    ask(ledger, 900.0, limits=limits)
    with pytest.raises(BudgetSpent):
        ledger.reserve(TODAY, "s1", limits)
    ledger.reserve(TOMORROW, "s1", limits)


def test_a_limit_that_is_lowered_counts_for_what_was_asked_before(ledger: Ledger) -> None:
    for _ in range(5):
        ask(ledger, 0.1)
    for lowered in (Limits(5, 10.0), Limits(3, 10.0), Limits(100, 0.5)):
        with pytest.raises(BudgetSpent):
            ledger.reserve(TODAY, "s1", lowered)
    ledger.reserve(TODAY, "s1", Limits(6, 1.0))


def test_what_is_told_after_midnight_counts_for_the_day_it_was_asked_on(ledger: Ledger) -> None:
    number = ledger.reserve(TODAY, "s1", PLENTY)
    ledger.reserve(TOMORROW, "s1", PLENTY)
    ledger.settle(number, "answered", Usage(1, 1, 0.5))
    assert (ledger.spent(TODAY).dollars, ledger.spent(TOMORROW).dollars) == (0.5, MIN_CALL_DOLLARS)


# --- the ledger ---------------------------------------------------------------------------------------------------


def test_nothing_asked_is_nothing_spent(ledger: Ledger) -> None:
    assert ledger.spent(TODAY) == ledger.spent_in("s1") == Spending()


def test_what_is_spent_is_summed_by_day_and_by_session(ledger: Ledger) -> None:
    ask(ledger, 0.25, session="s1")
    ask(ledger, 0.5, session="s2")
    ask(ledger, 1.0, session="s1", day=TOMORROW)
    assert ledger.spent(TODAY) == Spending(2, 200, 20, 0.75)
    assert ledger.spent_in("s1") == Spending(2, 200, 20, 1.25)


def test_old_days_are_dropped_and_the_others_kept(ledger: Ledger) -> None:
    ask(ledger, 1.0)
    ask(ledger, 1.0, day=TOMORROW)
    ledger.prune(TOMORROW)
    assert (ledger.spent(TODAY).calls, ledger.spent(TOMORROW).calls) == (0, 1)


# --- the breaker --------------------------------------------------------------------------------------------------


def test_at_first_nobody_waits(ledger: Ledger) -> None:
    assert ledger.pause(0.0) is None


def test_failures_in_a_row_are_counted_whoever_failed(ledger: Ledger, path: Path) -> None:
    assert ledger.count_failure() == 1
    with closing(State(path, fsync=False)) as other:
        assert other.ledger.count_failure() == 2
    assert ledger.count_failure() == 3


def test_a_failure_alone_stops_nobody(ledger: Ledger) -> None:
    ledger.count_failure()
    assert ledger.pause(0.0) is None


def test_a_call_that_worked_ends_the_row_and_the_waiting(ledger: Ledger) -> None:
    ledger.count_failure()
    ledger.start_pause(100.0, "Claude is overloaded.")
    ledger.reset_failures()
    assert ledger.pause(50.0) is None
    assert ledger.count_failure() == 1


def test_everybody_waits_until_the_time_has_come_and_knows_why(ledger: Ledger, path: Path) -> None:
    ledger.start_pause(100.0, "Claude is overloaded.")
    with closing(State(path, fsync=False)) as other:
        assert other.ledger.pause(99.9) == ("Claude is overloaded.", 100.0)
        assert other.ledger.pause(100.0) is None


def test_waiting_does_not_make_the_failures_forgotten(ledger: Ledger) -> None:
    ledger.count_failure()
    ledger.count_failure()
    ledger.start_pause(100.0, "Claude is overloaded.")
    assert ledger.count_failure() == 3
    assert ledger.pause(50.0) == ("Claude is overloaded.", 100.0)


def test_a_wait_that_a_wrong_clock_has_made_endless_is_none(ledger: Ledger) -> None:
    ledger.start_pause(10 * 365 * 86_400.0, "Claude is overloaded.")
    assert ledger.pause(0.0) is None


def test_a_call_that_would_probably_be_too_much_is_not_made(ledger: Ledger) -> None:
    limits = Limits(1_000, 0.05)
    ask(ledger, 0.04, limits=limits)
    assert "$0.05" in ledger.limit_reached(TODAY, limits)
    with pytest.raises(BudgetSpent):
        ledger.reserve(TODAY, "s1", limits)
