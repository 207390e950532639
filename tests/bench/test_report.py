"""`python -m bench report`: a page from numbers small enough to read, with everything written by hand kept."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench import report, sections
from bench.metrics import METRICS
from bench.options import DATA_VARIABLE
from memem.core.errors import InputError

MACHINE = {"python": "3.11.7", "sqlite": "3.40.1", "system": "Linux", "architecture": "x86_64", "cores": 2}
HALF = {"value": 0.5, "low": 0.25, "high": 0.75}
METRICS_OF_A_MODE = {name: HALF | ({} if name in ("MRR", "nDCG@10") else {"count": 4}) for name in METRICS}
KIND = {"questions": 8, "keyword": {"nDCG@10": 0.4, "any@5": 0.5}, "fused": {"nDCG@10": 0.6, "any@5": 0.75}}


def a_set(name: str, *, complete: bool = True) -> dict[str, Any]:
    curve = {"any": [0.1 * k for k in range(1, 11)], "all": [0.05 * k for k in range(1, 11)]}
    return {
        "set": name,
        "memories": 1_234,
        "questions": 8,
        "complete": complete,
        "metrics": {"keyword": METRICS_OF_A_MODE, "fused": METRICS_OF_A_MODE},
        "curves": {"keyword": curve, "fused": curve},
        "fused_minus": {"keyword": HALF | {"better": 3, "equal": 4, "worse": 1}},
        "kinds": {"literal": KIND},
    }


def a_claim(holds: bool | None, counted: str = "") -> dict[str, Any]:
    return {"what": "zoo: any@5", "value": 0.75, "counted": counted, "wanted": ">= 6 of 8", "holds": holds}


RECALL: dict[str, Any] = {
    "bench": "recall",
    "machine": MACHINE,
    "seed": 1,
    "resamples": 2_000,
    "sets": [a_set("labelled"), a_set("devmem", complete=False)],
    "promises": [a_claim(True, "6 of 8"), a_claim(None)],
}


def a_point(line: float, off: int, on: int) -> dict[str, Any]:
    ours = {"answered": on, "right": on - 1, "of_on": 10, "items": 2 * on, "right_items": on, "characters": 512.0}
    return {"line": line, "off_topic": off, "of_off": 100} | ours


SILENCE: dict[str, Any] = {
    "bench": "silence",
    "machine": MACHINE,
    "curve": [a_point(0.4, 5, 10), a_point(0.5, 2, 9), a_point(0.6, 0, 8)],
    "cosine": [{"line": 0.45, "off_topic": 4, "answered": 6}],
    "in_use": a_point(0.55, 1, 9),
    "cross_validated": {
        "folds": 5,
        "repeats": 4,
        "off_topic": HALF | {"count": 1.25, "of": 100},
        "answered": HALF | {"count": 9.0, "of": 10},
        "right": HALF | {"count": 8.0, "of": 10},
    },
    "abstention": {"fired": 1, "of": 3},
    "labelled": [
        {"kind": "ask", "prompts": 9, "wanted": True, "fired": 7, "right": 6, "never": 0, "items": 8, "right_items": 6},
        {
            "kind": "trivial",
            "prompts": 5,
            "wanted": False,
            "fired": 0,
            "right": 0,
            "never": 0,
            "items": 0,
            "right_items": 0,
        },
    ],
    "reliability": [{"low": 0.5, "high": 0.7, "items": 1_200, "predicted": 0.61, "observed": 0.58}],
    "promises": [a_claim(True)],
}
RANKING: dict[str, Any] = {
    "bench": "ranking",
    "rows": [
        {"constant": "meaning", "value": 0.6, "in_use": False, "sets": {"devmem": {"nDCG@10": 0.8, "any@5": 0.9}}},
        {"constant": "meaning", "value": 0.7, "in_use": True, "sets": {"devmem": {"nDCG@10": 0.85, "any@5": 1}}},
    ],
}
COST: dict[str, Any] = {
    "bench": "meaning",
    "machine": MACHINE,
    "times": [{"what": "warm search", "notes": 10_000, "ms": 7.654, "p95_ms": 9.87, "x_bare": 0.61, "runs": 20}],
    "promises": [{"what": "warm search / encode", "ratio": 0.8, "limit": 2.0, "holds": True}],
}
ALL = {each["bench"]: each for each in (RECALL, SILENCE, RANKING, COST)}


@pytest.fixture
def page(tmp_path: Path) -> Path:
    marked = "\n".join(
        f"About {name}.\n\n<!-- begin {name} -->\nas it was\n<!-- end {name} -->\n" for name in sections.SECTIONS
    )
    path = tmp_path / "docs" / "page.md"
    path.parent.mkdir()
    path.write_text(f"# Ours\n\n{marked}\nThe end.\n", encoding="utf-8")
    return path


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., str]:
    def save(*numbers: dict[str, Any]) -> str:
        for each in numbers:
            (tmp_path / f"{each['bench']}.json").write_text(json.dumps(each), encoding="utf-8")
        return ",".join(str(tmp_path / f"{each['bench']}.json") for each in numbers)

    return save


def part(page: Path, name: str) -> str:
    """Return the text between the markers of a section."""
    return page.read_text(encoding="utf-8").partition(f"<!-- begin {name} -->")[2].partition(f"<!-- end {name} -->")[0]


def row(text: str, first: str) -> list[str]:
    """The other cells of the first row of a table that begins so."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in line.split("|")[2:-1]]


def test_all_sections_are_written_and_everything_around_them_stays(page: Path) -> None:
    before = re.sub(r"\nas it was\n", "", page.read_text(encoding="utf-8"))
    report.write(page, ALL)
    after = page.read_text(encoding="utf-8")
    assert "as it was" not in after
    assert re.sub(r"(<!-- begin (\S+) -->).*?(<!-- end \2 -->)", r"\1\3", after, flags=re.DOTALL) == before


def test_writing_twice_changes_nothing(page: Path) -> None:
    report.write(page, ALL)
    first = page.read_bytes()
    report.write(page, ALL)
    assert page.read_bytes() == first


def test_every_chart_of_the_page_is_drawn_and_no_other(page: Path) -> None:
    written = report.write(page, ALL)
    shown = re.findall(r"!\[[^]]+\]\((plots/[^)]+)\)", page.read_text(encoding="utf-8"))
    assert shown == ["plots/recall-devmem.svg", "plots/silence.svg", "plots/reliability.svg"]
    assert sorted(written) == sorted([page.name, *shown])
    assert all((page.parent / name).read_text(encoding="utf-8").startswith("<svg") for name in shown)


def test_set_sizes_and_the_machine_are_reported(page: Path) -> None:
    report.write(page, ALL)
    text = part(page, "sets")
    assert row(text, "devmem") == ["1,234", "8", "the session"]
    assert "2,000 resamples of the questions, seed 1" in text
    assert "Python 3.11.7 and SQLite 3.40.1 on Linux x86_64, 2 cores" in text


def test_recall_is_reported_with_its_interval_and_in_questions(page: Path) -> None:
    report.write(page, ALL)
    text = part(page, "recall")
    assert row(text, "any@5") == ["0.500 [0.250, 0.750] · 4"] * 2
    assert row(text, "MRR") == ["0.500 [0.250, 0.750]"] * 2
    assert row(text, "fused − keyword") == ["+0.500 [+0.250, +0.750]", "3", "4", "1"]
    assert row(text, "literal") == ["8", "0.600", "0.400", "0.750", "0.500"]
    assert "**devmem**, 8 questions, a sample" in text


def test_without_a_model_there_is_nothing_to_compare(page: Path) -> None:
    alone = RECALL | {"sets": [a_set("labelled") | {"fused_minus": {}}]}
    report.write(page, {"recall": alone})
    assert "paired" not in part(page, "recall")


def test_recall_against_k_is_also_given_in_numbers(page: Path) -> None:
    report.write(page, ALL)
    assert row(part(page, "curves"), "any@k fused")[:3] == ["0.100", "0.200", "0.300"]


def test_promises_say_whether_they_hold(page: Path) -> None:
    broken = RECALL | {"promises": [*RECALL["promises"], a_claim(False)]}
    report.write(page, {"recall": broken})
    rows = [line.split(" | ") for line in part(page, "recall-promises").splitlines() if "zoo" in line]
    assert [cells[1] for cells in rows] == ["0.750 (6 of 8)", "0.750", "0.750"]
    assert [cells[3].removesuffix(" |") for cells in rows] == ["holds", "not judged", "**broken**"]


def test_the_threshold_in_use_is_in_bold(page: Path) -> None:
    report.write(page, ALL)
    text = part(page, "silence")
    cells = [line.split(" | ")[0] for line in text.splitlines() if re.match(r"\| [*0]", line)]
    assert cells == ["| 0.4", "| 0.5", "| **0.55**", "| 0.6", "| 0.45"]
    assert row(text, "0.5") == ["2 (2.0 %)", "9 (90.0 %)", "8 (80.0 %)", "18", "9 (50.0 %)", "512"]
    assert row(text, "0.45") == ["4 (4.0 %)", "6 (60.0 %)"]


def test_the_chart_of_silence_marks_the_threshold_in_use(page: Path) -> None:
    report.write(page, ALL)
    assert "in use, 0.55: 1 of 100, 9 of 10" in (page.parent / "plots" / "silence.svg").read_text(encoding="utf-8")


def test_a_line_at_which_nothing_comes_has_no_precision(page: Path) -> None:
    silent = a_point(0.9, 0, 0) | {"right": 0, "characters": 0}
    report.write(page, {"silence": SILENCE | {"curve": [silent]}})
    assert row(part(page, "silence"), "0.9")[3:] == ["0", "0", "0"]


def test_cross_validated_results_are_reported(page: Path) -> None:
    report.write(page, ALL)
    text = part(page, "expected")
    assert row(text, "off-topic prompts that get something") == ["1.2 of 100", "0.500 [0.250, 0.750]"]
    assert "held out, 4 × 5 folds" in text
    assert "devmem also has 3 questions that no memory answers; 1 of them get something." in text


def test_prompts_that_want_nothing_have_none_right(page: Path) -> None:
    report.write(page, ALL)
    text = part(page, "labelled")
    assert row(text, "ask") == ["something", "9", "7", "6", "0", "8", "6"]
    assert row(text, "trivial") == ["nothing", "5", "0", "", "0", "0", "0"]


def test_confidence_is_compared_with_the_share_of_right_memories(page: Path) -> None:
    report.write(page, ALL)
    assert row(part(page, "reliability"), "0.5 to 0.7") == ["1,200", "0.610", "0.580"]


def test_a_constant_is_named_once_and_its_value_in_use_is_in_bold(page: Path) -> None:
    report.write(page, ALL)
    text = part(page, "ranking")
    assert row(text, "constant") == ["value", "devmem nDCG@10", "devmem any@5"]
    assert row(text, "`meaning`") == ["0.6", "0.800", "0.900"]
    assert row(text, "") == ["**0.7**", "0.850", "1.000"]


def test_cost_is_reported_in_milliseconds_and_as_a_ratio(page: Path) -> None:
    report.write(page, ALL)
    text = part(page, "cost")
    assert row(text, "warm search") == ["10,000", "7.7", "9.9", "12.5", "0.61"]
    assert row(text, "warm search / encode") == ["0.80", "2", "holds"]


def test_from_reads_numbers_and_leaves_the_other_sections(
    page: Path, saved: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert report.run(["--from", saved(RECALL, COST), "--page", str(page)]) == 0
    assert part(page, "silence") == "\nas it was\n"
    assert "| devmem | 1,234 |" in part(page, "sets")
    assert capsys.readouterr().out.splitlines() == ["Written: page.md", "Written: plots/recall-devmem.svg"]


def test_the_numbers_behind_the_page_can_be_kept(page: Path, saved: Callable[..., str], tmp_path: Path) -> None:
    report.run(["--from", saved(RECALL, COST), "--page", str(page), "--json", str(tmp_path / "all.json")])
    assert json.loads((tmp_path / "all.json").read_text()) == {"recall": RECALL, "meaning": COST}


def test_a_broken_promise_exits_with_1_after_the_page_is_written(
    page: Path, saved: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert report.run(["--from", saved(RECALL | {"promises": [a_claim(False)]}), "--page", str(page)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "BROKEN: zoo: any@5"
    assert "**broken**" in part(page, "recall-promises")


@pytest.mark.parametrize("marker", ["<!-- begin curves -->", "<!-- end curves -->"])
def test_a_missing_marker_is_named_and_the_page_stays(page: Path, marker: str) -> None:
    page.write_text(page.read_text(encoding="utf-8").replace(marker, ""), encoding="utf-8")
    before = page.read_bytes()
    with pytest.raises(InputError, match=f"marker {marker} 0 times: it has to stand there once"):
        report.write(page, ALL)
    assert page.read_bytes() == before
    assert not (page.parent / "plots").exists()


def test_markers_the_wrong_way_round_are_named() -> None:
    with pytest.raises(InputError, match=r"<!-- end sets --> stands before <!-- begin sets -->"):
        report.filled("<!-- end sets --> <!-- begin sets -->", "sets", "new")


def test_numbers_that_lack_something_are_named(
    page: Path, saved: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    without = {key: value for key, value in SILENCE.items() if key != "curve"}
    assert report.run(["--from", saved(without), "--page", str(page)]) == 1
    assert capsys.readouterr().err.startswith("The numbers of silence lack 'curve' for the section 'silence': run")


def test_a_file_without_numbers_is_named(page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "list.json").write_text("[]", encoding="utf-8")
    for name in ("list.json", "missing.json"):
        assert report.run(["--from", str(tmp_path / name), "--page", str(page)]) == 1
        assert f"{name} holds no numbers of a benchmark" in capsys.readouterr().err


def test_numbers_that_the_page_has_no_place_for_are_refused(
    page: Path, saved: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert report.run(["--from", saved({"bench": "hooks"}), "--page", str(page)]) == 1
    assert "shows nothing of the benchmark 'hooks'" in capsys.readouterr().err


def test_a_page_that_is_not_there_is_named(saved: Callable[..., str], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"page .*none\.md cannot be read"):
        report.write(tmp_path / "none.md", ALL)


def test_without_data_or_numbers_it_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    with pytest.raises(SystemExit) as stopped:
        report.run([])
    assert stopped.value.code == 2
    assert "need --data DIR" in " ".join(capsys.readouterr().err.split())


def test_one_command_runs_every_benchmark_behind_the_page(
    page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: dict[str, list[str]] = {}

    def bench(name: str) -> SimpleNamespace:
        def run(arguments: list[str]) -> int:
            *asked[name], _, file = arguments
            Path(file).write_text(json.dumps(ALL[name]), encoding="utf-8")
            return 0

        return SimpleNamespace(run=run)

    for name in ALL:
        monkeypatch.setitem(sys.modules, f"bench.{name}", bench(name))
    assert report.run(["--data", "DATA", "--cache", "KEPT", "--page", str(page)]) == 0
    given = ["--data", "DATA", "--cache", "KEPT"]
    assert asked == {"recall": given, "silence": given, "ranking": given, "meaning": ["--sizes", "10000"]}
    assert "as it was" not in page.read_text(encoding="utf-8")


def test_our_page_has_a_place_for_every_section_and_all_of_its_charts() -> None:
    text = report.PAGE.read_text(encoding="utf-8")
    assert re.findall(r"<!-- begin (\S+) -->", text) == list(sections.SECTIONS)
    assert re.findall(r"<!-- end (\S+) -->", text) == list(sections.SECTIONS)
    assert all((report.PAGE.parent / name).is_file() for name in re.findall(r"\]\((plots/[^)]+)\)", text))
