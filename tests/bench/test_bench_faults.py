"""The benchmark of faults works, with a few of them."""

from pathlib import Path

from bench import faults


def test_an_action_is_tried_with_every_so_and_so_many_th_fault() -> None:
    done = faults.tried("opt in", every=20)
    assert (done.faults, done.findings) == (3 * len(range(0, done.operations, 20)), ())


def test_a_process_that_is_killed_leaves_nothing_behind_that_the_next_does_not_heal(tmp_path: Path) -> None:
    _, findings, skipped = faults._killed(tmp_path, 1)
    assert (findings, skipped) == ([], "")
