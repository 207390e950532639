"""How often memem speaks when it should not, against when it should, and how much of what it says is right.

Measured on the project's own labelled prompts and, given the folder with their files (--data, or the variable
MEMEM_BENCH_DATA), on devmem's questions and on prompts about an unrelated project, all in one project. --fit shows how
the weights of confidence come about: rounded, they are what `memem/inject/confidence.py` holds.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import decisions, fitting, prompts
from bench.decisions import at, in_use, point
from bench.measure import changed, machine, save_json, table
from bench.options import DATA_VARIABLE, folder, shared
from bench.prompts import ABSTENTION, Case
from bench.scores import Claim, all_promises_hold, shown_claims
from memem.inject import confidence
from memem.inject.confidence import EvidenceWeights

LINES = tuple(step / 100 for step in (1, 2, 3, 4, 6, 8, *range(10, 31), *range(35, 100, 5)))
COSINES = tuple(round(0.025 * step, 3) for step in range(10, 27))
QUESTIONS = (0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
NAMES = (0.0, 1.0, 1.5, 2.0)
MOST_OFF_TOPIC = 2 / 171
LEAST_ANSWERED = 0.95
SIZES, ENOUGH = (3, 10, 30), (1, 50, 100, 200)
MOST_CHARACTERS = 1_200


def run(arguments: list[str]) -> int:
    """Measure, print the tables, and write the JSON when asked; 1 when a promise is broken."""
    parser = shared(argparse.ArgumentParser(prog="python -m bench silence", description=__doc__))
    parser.add_argument("--fit", action="store_true", help="fit the weights, and show what the others do")
    parser.add_argument("--small", action="store_true", help="also ask our own prompts of vaults with few memories")
    options = parser.parse_args(arguments)
    with folder(options.cache) as place:
        own = prompts.own(Path(place) / "labelled")
        public = prompts.devmem(options.data, Path(place) / "devmem") if options.data else []
        small = {n: prompts.own_in_small_vaults(Path(place) / f"small-{n}", n) for n in SIZES} if options.small else {}
    measured = measure(public, own)
    print("\n\n".join(_sections(measured)) + "\n")
    if options.fit and decisions.has_meaning(public):
        print("\n\n".join(_fitted(public, own)) + "\n")
    if small:
        print("\n\n".join(_in_small_vaults(small)) + "\n")
    promised = claims(measured)
    print(
        shown_claims(promised)
        if promised
        else f"Nothing is promised without a model, and --data DIR or {DATA_VARIABLE}."
    )
    if options.json:
        told = {"bench": "silence", "machine": machine(), **measured}
        save_json(options.json, told | {"promises": [claim.as_json() for claim in promised]})
    return 0 if all_promises_hold(promised) else 1


def measure(public: Sequence[Case], own: Sequence[Case]) -> dict[str, Any]:
    """All numbers, as data."""
    line = in_use()
    found: dict[str, Any] = {
        "labelled": decisions.by_kind(own, at(line)),
        "reliability": decisions.reliability([*public, *own]),
    }
    if not public:
        return found
    curve = [point(public, at(replace(line, confidence=each)), each) for each in LINES]
    plain = [point(public, decisions.above_cosine(each), each) for each in COSINES]
    abstaining = [case for case in public if case.kind == ABSTENTION]
    return found | {
        "curve": [each.as_json() for each in curve],
        "cosine": [each.as_json() for each in plain],
        "in_use": point(public, at(line), line.confidence).as_json(),
        **({"cross_validated": decisions.crossed(public)} if decisions.has_meaning(public) else {}),
        "abstention": {"fired": sum(bool(at(line)(case)) for case in abstaining), "of": len(abstaining)},
    }


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return the promises for the public sets, at the threshold in use and cross-validated."""
    if "cross_validated" not in measured:
        return []
    used, crossed = measured["in_use"], measured["cross_validated"]
    off, answered = used["off_topic"] / used["of_off"], used["answered"] / used["of_on"]
    most = MOST_OFF_TOPIC
    unseen = {name: crossed[name]["value"] for name in ("off_topic", "answered")}
    few, enough, short = f"<= {most:.4f}", f">= {LEAST_ANSWERED}", f"< {MOST_CHARACTERS}"
    wanted = {
        "off-topic prompts that get a memory": (off, few, off <= most),
        "off-topic prompts that get a memory, cross-validated": (unseen["off_topic"], few, unseen["off_topic"] <= most),
        "questions that get a memory": (answered, enough, answered >= LEAST_ANSWERED),
        "questions that get a memory, cross-validated": (
            unseen["answered"],
            enough,
            unseen["answered"] >= LEAST_ANSWERED,
        ),
        "characters in a slice, median": (used["characters"], short, used["characters"] < MOST_CHARACTERS),
    }
    return [Claim(what, value, limit, holds, judged=True) for what, (value, limit, holds) in wanted.items()]


def _sections(measured: dict[str, Any]) -> Iterator[str]:
    if "curve" in measured:
        headings = ("threshold", "off-topic", "answered", "right source", "items", "of them right", "characters")
        rows = [_row(each, measured["in_use"]["line"]) for each in measured["curve"]]
        yield "Confidence, on devmem's questions and on prompts about something else"
        yield table(headings, rows)
        yield "A plain threshold on the cosine, on the same"
        yield table(headings, [_row(each) for each in measured["cosine"]])
        abstained = measured["abstention"]
        yield f"Questions that no memory answers: {abstained['fired']} of {abstained['of']} get something."
    if crossed := measured.get("cross_validated"):
        yield f"Weights and line from {crossed['folds'] - 1} of {crossed['folds']} parts, judged on the other"
        shares = [_share(name, crossed[name]) for name in ("off_topic", "answered", "right")]
        yield table(("", "prompts", "share", "95 %"), shares)
    columns = ("kind", "prompts", "wanted", "fired", "right", "never", "items", "of them right")
    yield "Our own prompts, at the threshold in use"
    yield table(columns, [tuple(each.values()) for each in measured["labelled"]])
    bands = [
        (f"{each['low']}-{each['high']}", each["items"], f"{each['predicted']:.2f}", f"{each['observed']:.2f}")
        for each in measured["reliability"]
    ]
    yield "How confident memem is, and how often it is right, over all memories that were considered"
    yield table(("confidence", "memories", "predicted", "observed"), bands)


def _fitted(public: Sequence[Case], own: Sequence[Case]) -> Iterator[str]:
    """The weights as they come out, and what other values of those that are not fitted do."""
    cases = [case for case in public if case.kind != ABSTENTION]
    weights, words = fitting.fit(cases, fitting.OF_MEANING), fitting.fit(cases, fitting.OF_WORDS)
    calibrated = fitting.calibrated(weights, [*cases, *own])
    line = decisions.best_line(cases, calibrated).confidence
    yield f"Weights:         {_format_weights(weights)}"
    yield f"calibrated:      {_format_weights(calibrated)}; their best line is {line:.3f}"
    by_words = fitting.calibrated(words, [*cases, *own])
    at_words = decisions.best_line(cases, by_words).confidence
    shift = fitting.log_odds(line) - fitting.log_odds(at_words)
    shifted = by_words._replace(always=by_words.always + shift)
    yield f"by words alone:  {_format_weights(shifted)}; shifted by {shift:.2f} to the same line"
    tried = [{**fitting.HELD, "question": value} for value in QUESTIONS]
    tried += [{**fitting.HELD, "name": value} for value in NAMES]
    headings = (
        "question",
        "name",
        "devmem answered",
        "tasks",
        "questions",
        "off-topic",
        "near-misses",
        "wrong project",
    )
    yield "What is not fitted, in the units of the first row of weights, each time at the best line"
    yield table(headings, [_with(held, cases, own) for held in tried])


def _in_small_vaults(small: Mapping[int, Sequence[Case]]) -> Iterator[str]:
    """Measure the labelled prompts in small vaults, by the number of notes required to judge a word as unknown."""
    yield "In small vaults: prompts that get what they want, and those that get something and want nothing"
    rows = []
    for enough in ENOUGH:
        with changed(confidence, "ENOUGH_NOTES", enough):
            anew = {
                n: [replace(case, hits=tuple(confidence.rate_hits(case.hits, case.prompt))) for case in cases]
                for n, cases in small.items()
            }
            points = [point(cases, at(in_use()), 0.0) for cases in anew.values()]
        told = [f"{each.right} of {each.of_on}, {each.off_topic} of {each.of_off}" for each in points]
        rows.append((enough, *told))
    yield table(("enough", *(f"{n} memories" for n in small)), rows)


def _with(held: dict[str, float], public: Sequence[Case], own: Sequence[Case]) -> tuple[Any, ...]:
    weights = fitting.fit(public, fitting.OF_MEANING, held)
    choose = at(decisions.best_line(public, weights), weights)
    there = point(public, choose, 0.0)
    kinds = {each["kind"]: each for each in decisions.by_kind(own, choose)}
    right = [f"{kinds[kind]['right']} of {kinds[kind]['prompts']}" for kind in ("task", "ask")]
    fired = [
        f"{kinds[kind]['fired']} of {kinds[kind]['prompts']}" for kind in ("off-topic", "near-miss", "wrong-project")
    ]
    return held["question"], held["name"], f"{there.answered} of {there.of_on}", *right, *fired


def _format_weights(weights: EvidenceWeights) -> str:
    return ", ".join(f"{name}={value:.2f}" for name, value in weights._asdict().items() if value)


def _row(each: dict[str, Any], used: float | None = None) -> tuple[Any, ...]:
    mark = "  <- in use" if each["line"] == used else ""
    return (
        each["line"],
        f"{each['off_topic']} of {each['of_off']}",
        f"{each['answered']} of {each['of_on']}",
        each["right"],
        each["items"],
        each["right_items"],
        f"{each['characters']:.0f}{mark}",
    )


def _share(name: str, each: dict[str, Any]) -> tuple[str, ...]:
    count = f"{each['count']:.1f} of {each['of']}"
    return name.replace("_", " "), count, f"{each['value']:.3f}", f"{each['low']:.3f}-{each['high']:.3f}"
