"""How results look: JSON when asked, tables and colours on a terminal, plain text in a pipe."""

import argparse
import json as json_format
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memem.core import dates, surroundings
from memem.core.memory import Entry, Hit, jsonable
from memem.workspace import reach

if TYPE_CHECKING:
    from memem.notes.write import Written


# What steers a terminal or turns the direction of writing: names of files, say, may hold it.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_OUTCOMES = {
    "exists": "already known",
    "created": "saved",
    "updated": "added to",
    "superseded": "saved instead of another",
    "proposed": "proposed for review",
}
ENCODING_INTERRUPTED = "Interrupted: what is encoded is kept, and `memem encode` goes on from there."


def json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def say(text: str = "") -> None:
    """One line, or several, on standard output, whatever characters it can show."""
    if sys.stdout is not None:
        encoding = sys.stdout.encoding or "utf-8"
        print(_STEERING.sub("", text).encode(encoding, "replace").decode(encoding))


def aside(text: str) -> None:
    """One line for the person that is not part of the result, in memem's own words."""
    quote_aside(advice(text))


def quote_aside(text: str) -> None:
    """The same for a line with remembered text in it, which stays as it is."""
    if sys.stderr is not None:
        print(" ".join(_STEERING.sub("", text).split()), file=sys.stderr)


def advice(text: str) -> str:
    """A sentence of memem's own, with the commands in it named as they work where it is read."""
    return surroundings.reachable(text, reach()) if "`" in text else text


def title(text: str) -> str:
    """A note's title. Inside Claude Code, where a model reads it, one that reads like an instruction is left out."""
    if not reach().in_claude_code:
        return text
    from memem.inject.answers import title as readable

    return readable(text)


def flush() -> None:
    """Bring out what is still held back, so that a closed pipe is noticed here."""
    if sys.stdout is not None:
        sys.stdout.flush()


def abandon() -> None:
    """Give up what could not be brought out: Python would complain about it once more at its end."""
    try:
        flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def as_json(value: Any) -> None:
    text = json_format.dumps(jsonable(value), ensure_ascii=not _shows_unicode(), indent=2)
    say(_STEERING.sub(lambda match: f"\\u{ord(match.group()):04x}", text))


def on_terminal() -> bool:
    """Whether there is somebody to draw for, on something that can show it."""
    return sys.stdout is not None and sys.stdout.isatty() and _shows_unicode()


def _shows_unicode() -> bool:
    return sys.stdout is not None and (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows in columns: drawn on a terminal, separated by tabs in a pipe."""
    if not on_terminal():
        for row in rows:
            say("\t".join(" ".join(cell.split()) for cell in row))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(*headings, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        drawn.add_row(*(Text(_STEERING.sub("", cell)) for cell in row))
    Console().print(drawn)


@contextmanager
def progress(what: str, *, quiet: bool = False) -> Iterator[Callable[[float, int], object]]:
    """A function to call with how much is done and how much there is: a bar with an estimate, on a terminal."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def heading(text: str) -> None:
    """A line that parts what was from what comes."""
    say()
    if on_terminal():
        print(f"\x1b[1m{_STEERING.sub('', text)}\x1b[0m")
    else:
        say(text)


def listed(found: Sequence[Entry], *, json: bool, nothing: str) -> None:
    """Memories as JSON or as a list, or in words that there are none."""
    if json:
        as_json(found)
    elif found:
        entries(found)
    else:
        aside(nothing)


def degraded(why: str) -> None:
    """Say when keywords answered alone though they should not have."""
    if why:
        aside(f"(keywords only: {why})")


def entries(found: Sequence[Entry], *, held: bool = False) -> None:
    """Memories as a list, with the score where there is one; with `held`, also from when until when each was true."""
    scored = any(isinstance(entry, Hit) for entry in found)
    headings = ["id", *(["score", "by"] if scored else []), "project", "kind", "held" if held else "updated", "title"]
    rows = []
    for entry in found:
        memory = entry.memory
        score = [f"{entry.score:.2f}", entry.source] if isinstance(entry, Hit) else []
        remark = dates.remark(memory)
        title = f"{memory.title} ({remark})" if remark and not held else memory.title
        when = dates.period(memory) if held else memory.updated[:10]
        rows.append([memory.id8, *score, memory.project, memory.kind, when, title])
    table(headings, rows)


def whole(entry: Entry) -> None:
    """One memory with everything a person may want to know of it."""
    memory = entry.memory
    say(memory.title)
    facts = [memory.id, memory.project, memory.kind, f"layer {memory.layer}", f"importance {memory.importance}"]
    say(" · ".join([*facts, dates.remark(memory) or memory.status, memory.updated[:10]]))
    if entry.path:
        say(f"memem/{entry.path}")
    say()
    say(memory.body)
    if memory.evidence:
        say()
        say(textwrap.indent(memory.evidence, "> ", lambda _: True))


def written(result: "Written", *, json: bool = False) -> None:
    """What became of a write, in a line, and what the gate took out."""
    if json:
        as_json(result)
        return
    outcome = _OUTCOMES.get(result.outcome, result.outcome)
    say(f"{outcome} {result.memory.id8}  {result.memory.project}  {result.memory.title}")
    if result.outcome == "created" and result.memory.contradicts:
        against = ", ".join(result.memory.contradicts)
        aside(f"It contradicts {against}: `memem conflicts` shows both, `memem resolve` ends it.")
    if result.doubt:
        aside(f"It {result.doubt}. Nobody is shown it until you say so: `memem review accept {result.memory.id8}`.")
    if result.redacted:
        aside(f"Taken out before saving: {', '.join(result.redacted)}.")
    if result.neutralised:
        aside(f"{result.neutralised} invisible or control characters were removed.")


def several(text: str) -> tuple[str, ...]:
    """A comma-separated option as a tuple."""
    return tuple(part for part in (piece.strip() for piece in text.split(",")) if part)
