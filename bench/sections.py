"""The sections of docs/benchmarks.md that hold numbers: what a benchmark wrote as JSON, as tables and charts."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.metrics import CURVES, METRICS, PLACES
from bench.plots import Axis, Mark, Panel, Series, svg
from bench.scores import FUSED, HIT, MAIN, MODES, format_value

Numbers = Mapping[str, Any]
"""The JSON output of one benchmark."""
PLOTS = "plots"
"""The folder of the charts, beside the page."""
SHOWN_FIRST = tuple(reversed(MODES))
WHAT_COUNTS = {"labelled": "the memory", "longmemeval": "the session, which is one long memory"}
SQUARE = 460
"""How wide a chart is whose panel is about as wide as high."""
MOST_OFF_TOPIC = 0.08
"""The silence curve is shown as far as this; nobody would want more."""


@dataclass(frozen=True, slots=True)
class Section:
    """Markdown, and the charts that it shows, by the name of their file."""

    text: str
    plots: Mapping[str, str] = field(default_factory=dict)


def sets(recall: Numbers) -> Section:
    """Describe the sets, their sizes and the machine."""
    rows = [
        (each["set"], _number(each["memories"]), each["questions"], WHAT_COUNTS.get(each["set"], "the session"))
        for each in recall["sets"]
    ]
    drawn = f"Intervals: 95 %, from {recall['resamples']:,} resamples of the questions, seed {recall['seed']}."
    sizes = _table(("set", "memories", "questions", "what has to be found"), rows)
    return Section(f"{sizes}\n\n{drawn} {_machine(recall)}")


def recalled(recall: Numbers) -> Section:
    """A table per set with intervals, one of the differences, and one of its kinds of questions."""
    return Section("\n\n".join(part for each in recall["sets"] for part in _of_set(each)))


def curves(recall: Numbers) -> Section:
    """Recall against k: a chart for each public set, and the same as numbers."""
    parts, plots = [], {}
    for each in recall["sets"]:
        name, title = f"recall-{each['set']}.svg", f"{each['set']}, {each['questions']} questions: recall against k"
        if each["set"] != "labelled":
            plots[name] = svg(title, [_curve_panel(each["curves"], kind) for kind in CURVES])
            parts.append(f"![{title}]({PLOTS}/{name})")
        rows = [
            (f"{kind}@k {mode}", *(_share(value) for value in each["curves"][mode][kind]))
            for kind in CURVES
            for mode in each["curves"]
        ]
        parts.append(_table((each["set"], *map(str, PLACES)), rows))
    return Section("\n\n".join(parts), plots)


def spoken(silence: Numbers) -> Section:
    """The silence curve, ours and a plain cosine's, and what is injected at each line."""
    used = silence["in_use"]
    title = "How often memem shows a note: when none is needed, and when one is"
    plot = svg(title, [_silence_panel(silence)])
    points = {each["line"]: each for each in silence["curve"]} | {used["line"]: used}
    rows = [_point(points[line], in_use=line == used["line"]) for line in sorted(points)]
    said = (f"off-topic, of {used['of_off']}", f"answered, of {used['of_on']}")
    ours = _table(("threshold", *said, "right source", "items", "right items", "characters"), rows)
    plain = [_point({**used, **each}, in_use=False)[:3] for each in silence["cosine"]]
    cosine = _table(("cosine at least", *said), plain)
    return Section(f"![{title}]({PLOTS}/silence.svg)\n\n{ours}\n\n{cosine}", {"silence.svg": plot})


def expected(silence: Numbers) -> Section:
    """Tabulate the cross-validated results, and the questions without an answer."""
    crossed, abstention = silence["cross_validated"], silence["abstention"]
    names = {"off_topic": "off-topic prompts that get something", "answered": "questions that get something"}
    names["right"] = "questions that get something from the right source"
    rows = [
        (what, f"{crossed[key]['count']:.1f} of {crossed[key]['of']}", _interval(crossed[key]))
        for key, what in names.items()
    ]
    held_out = f"held out, {crossed['repeats']} × {crossed['folds']} folds"
    none = f"devmem also has {abstention['of']} questions that no memory answers"
    shares = _table((held_out, "prompts", "share"), rows)
    return Section(f"{shares}\n\n{none}; {abstention['fired']} of them get something.")


def labelled(silence: Numbers) -> Section:
    """Our own prompts by their kind."""
    rows = [
        (
            each["kind"],
            "something" if each["wanted"] else "nothing",
            each["prompts"],
            each["fired"],
            each["right"] if each["wanted"] else "",
            each["never"],
            each["items"],
            each["right_items"],
        )
        for each in silence["labelled"]
    ]
    counts = (
        "prompts",
        "get something",
        "get a helpful memory",
        "get a forbidden one",
        "memories shown",
        "helpful ones",
    )
    return Section(_table(("kind", "should get", *counts), rows))


def reliability(silence: Numbers) -> Section:
    """How sure memem was of what it could have shown, and how often it was right."""
    found = silence["reliability"]
    rows = [
        (
            f"{each['low']:.1f} to {each['high']:.1f}",
            _number(each["items"]),
            _share(each["predicted"]),
            _share(each["observed"]),
        )
        for each in found
    ]
    share = Axis("observed: share that helped", 0, 1, 0.2)
    met = Series("memem", tuple((each["predicted"], each["observed"]) for each in found))
    even = Series("perfect calibration", ((0, 0), (1, 1)), quiet=True)
    title = "Confidence, and how often a memory helps"
    plot = svg(title, [Panel(Axis("predicted: confidence", 0, 1, 0.2), share, (met, even))], SQUARE)
    shown = _table(("confidence", "memories", "predicted", "observed"), rows)
    return Section(f"![{title}]({PLOTS}/reliability.svg)\n\n{shown}", {"reliability.svg": plot})


def ranking(ranked: Numbers) -> Section:
    """Tabulate the effect of each ranking constant, varied on its own."""
    columns = [(name, metric) for name, metrics in ranked["rows"][0]["sets"].items() for metric in metrics]
    rows, last = [], ""
    for row in ranked["rows"]:
        value = f"**{row['value']:g}**" if row["in_use"] else f"{row['value']:g}"
        cells = [_share(row["sets"][name][metric]) for name, metric in columns]
        rows.append((f"`{row['constant']}`" if row["constant"] != last else "", value, *cells))
        last = row["constant"]
    return Section(_table(("constant", "value", *(f"{name} {metric}" for name, metric in columns)), rows))


def cost(meaning: Numbers) -> Section:
    """Time, and what is promised of it."""
    rows = [
        (
            each["what"],
            _number(each["notes"]),
            f"{each['ms']:.1f}",
            f"{each['p95_ms']:.1f}",
            f"{each['ms'] / each['x_bare']:.1f}",  # each group of rows has bare starts of its own
            f"{each['x_bare']:.2f}",
        )
        for each in meaning["times"]
    ]
    promised = [
        (each["what"], f"{each['ratio']:.2f}", f"{each['limit']:g}", _verdict(each)) for each in meaning["promises"]
    ]
    times = _table(("what", "notes", "median, ms", "95th percentile, ms", "bare start, ms", "× bare start"), rows)
    return Section(f"{times}\n\n{_table(('promise', 'measured', 'at most', ''), promised)}\n\n{_machine(meaning)}")


def promises(numbers: Numbers) -> Section:
    """Tabulate the promises for recall or silence."""
    rows = [
        (each["what"], format_value(each["value"], each["counted"]), f"`{each['wanted']}`", _verdict(each))
        for each in numbers["promises"]
    ]
    return Section(_table(("promise", "measured", "wanted", ""), rows))


SECTIONS: Mapping[str, tuple[str, Callable[[Numbers], Section]]] = {
    "sets": ("recall", sets),
    "recall-promises": ("recall", promises),
    "recall": ("recall", recalled),
    "curves": ("recall", curves),
    "silence-promises": ("silence", promises),
    "silence": ("silence", spoken),
    "expected": ("silence", expected),
    "labelled": ("silence", labelled),
    "reliability": ("silence", reliability),
    "ranking": ("ranking", ranking),
    "cost": ("meaning", cost),
}
"""In the order of the page: the benchmark whose numbers a section shows, and how."""


def _of_set(each: Numbers) -> Iterator[str]:
    modes = tuple(mode for mode in SHOWN_FIRST if mode in each["metrics"])
    yield f"**{each['set']}**, {each['questions']} questions" + ("" if each["complete"] else ", a sample")
    rows = [(metric, *(_averaged(each, mode, metric) for mode in modes)) for metric in METRICS]
    yield _table(("", *modes), rows)
    apart = [
        (f"{FUSED} − {mode}", _interval(it, "+"), it["better"], it["equal"], it["worse"])
        for mode, it in each["fused_minus"].items()
    ]
    if apart:
        yield _table((f"{MAIN}, paired", "difference", "better", "equal", "worse"), apart)
    kinds = [
        (kind, it["questions"], *(_share(it[mode][metric]) for metric in (MAIN, HIT) for mode in modes))
        for kind, it in each["kinds"].items()
    ]
    yield _table(("kind", "questions", *(f"{metric} {mode}" for metric in (MAIN, HIT) for mode in modes)), kinds)


def _averaged(each: Numbers, mode: str, metric: str) -> str:
    found = each["metrics"][mode][metric]
    return _interval(found) + (f" · {found['count']}" if "count" in found else "")


def _curve_panel(found: Mapping[str, Mapping[str, Sequence[float]]], kind: str) -> Panel:
    heading = {"any": "any@k: at least one answer is found", "all": "all@k: every answer is found"}[kind]
    lines = {mode: found[mode][kind] for mode in SHOWN_FIRST if mode in found}
    series = tuple(Series(mode, tuple(zip(PLACES, values, strict=True))) for mode, values in lines.items())
    low = min(0.8, math.floor(10 * min(map(min, lines.values()))) / 10)
    share = Axis("share of questions" if kind == "any" else "", low, 1, 0.1 if low < 0.7 else 0.05, percent=True)
    return Panel(Axis("k: number of results considered", 1, PLACES[-1], 1), share, series, heading)


def _silence_panel(silence: Numbers) -> Panel:
    used = silence["in_use"]
    off, on = used["of_off"], used["of_on"]

    def line(name: str, points: Iterable[Numbers], key: str) -> Series:
        places = {(each["off_topic"] / off, each[key] / on) for each in points}
        return Series(name, tuple(sorted(places)))

    series = (
        line("memem: any memory", [*silence["curve"], used], "answered"),
        line("memem: a memory from the right source", [*silence["curve"], used], "right"),
        line("plain cosine: any memory", silence["cosine"], "answered"),
    )
    return Panel(
        Axis(f"off-topic prompts that get something, of {off}", 0, MOST_OFF_TOPIC, 0.01, percent=True),
        Axis(f"questions that get one, of {on}", 0.6, 1, 0.1, percent=True),
        series,
        mark=Mark(used["off_topic"] / off, used["answered"] / on, _in_use(used)),
    )


def _in_use(used: Numbers) -> str:
    places = f"{used['off_topic']} of {used['of_off']}, {used['answered']} of {used['of_on']}"
    return f"in use, {used['line']:g}: {places}"


def _point(each: Numbers, *, in_use: bool) -> tuple[str, ...]:
    cells = (
        f"{each['line']:g}",
        _of(each["off_topic"], each["of_off"]),
        _of(each["answered"], each["of_on"]),
        _of(each["right"], each["of_on"]),
        str(each["items"]),
        _of(each["right_items"], each["items"]),
        f"{each['characters']:g}",
    )
    return tuple(f"**{cell}**" for cell in cells) if in_use else cells


def _of(count: int, of: int) -> str:
    return f"{count} ({100 * count / of:.1f} %)" if of else "0"


def _verdict(claim: Numbers) -> str:
    return {True: "holds", False: "**broken**", None: "not judged"}[claim["holds"]]


def _interval(found: Numbers, sign: str = "") -> str:
    return f"{found['value']:{sign}.3f} [{found['low']:{sign}.3f}, {found['high']:{sign}.3f}]"


def _share(value: float) -> str:
    return f"{value:.3f}"


def _number(value: int) -> str:
    return f"{value:,}"


def _machine(numbers: Numbers) -> str:
    it = numbers["machine"]
    system = f"{it['system']} {it['architecture']}, {it['cores']} cores"
    return f"Measured with Python {it['python']} and SQLite {it['sqlite']} on {system}."


def _table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Numbers to the right, what they are about to the left."""
    lines = [headings, ["---", *("--:" for _ in headings[1:])], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
