"""Print results: JSON on request, tables and colours on a terminal, plain text in a pipe."""

import argparse
import json as json_format
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from memem.core import dates, surroundings
from memem.core.memory import Entry, Hit, jsonable
from memem.safety.naming import hide_orders
from memem.workspace import reach

if TYPE_CHECKING:
    from memem.notes.write import Written

# Control characters and direction marks, which may occur in file names, for example.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
OUTCOMES = {
    "exists": "already known",
    "created": "saved",
    "updated": "added to",
    "superseded": "saved as a replacement",
    "outdated": "saved as outdated",
    "proposed": "proposed for review",
}
MIN_LAST_COLUMN, COLUMN_GAP = 24, 3

Result = TypeVar("Result")
Cells = Sequence[str]


def say(text: str = "") -> None:
    """Print to standard output, replacing characters that it cannot show."""
    if sys.stdout is not None:
        encoding = sys.stdout.encoding or "utf-8"
        print(_wrapped(_presentable(text), sys.stdout).encode(encoding, "replace").decode(encoding))


def aside(text: str) -> None:
    """Print one of memem's own messages, which is not part of the result, to standard error."""
    quote_aside(advice(text))


def quote_aside(text: str) -> None:
    """Print a message that quotes remembered text, unchanged, to standard error."""
    if sys.stderr is not None:
        print(_wrapped(" ".join(_presentable(text).split()), sys.stderr), file=sys.stderr)


def _presentable(text: str) -> str:
    """Drop what would steer a terminal; inside Claude Code, where a model reads along, hide names that give orders."""
    text = _CONTROL.sub("", text)
    hidden = hide_orders(text)
    return hidden if hidden != text and reach().in_claude_code else text


def _wrapped(text: str, stream: TextIO) -> str:
    """Break long lines between words where a terminal would break them anywhere."""
    if not stream.isatty():
        return text
    import shutil

    width = max(shutil.get_terminal_size().columns, 40)
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    lines = []
    for line in text.split("\n"):
        wrapper.subsequent_indent = line[: len(line) - len(line.lstrip(" >|"))]
        lines += wrapper.wrap(line) if len(line) > width else [line]
    return "\n".join(lines)


def advice(text: str) -> str:
    """Spell the commands in one of memem's own messages the way its reader can run them."""
    return surroundings.reachable(text, reach()) if "`" in text else text


def title(text: str) -> str:
    """Return a note's title; inside Claude Code, leave out one that reads like an instruction to the model."""
    if not reach().in_claude_code:
        return text
    from memem.safety.gate import recorded_line

    return recorded_line(text) or "(a title that reads like an instruction)"


def turn(text: str) -> str:
    """Return the text of a turn; inside Claude Code, leave out one that reads like an instruction to the model."""
    if not reach().in_claude_code:
        return text
    from memem.search.transcripts.sessions import explain_withheld

    reason = explain_withheld(text)
    return f"(withheld: it {reason})" if reason else text


def count(number: int, noun: str) -> str:
    """Return a number with its noun: 1 note, 2 notes, 2 memories."""
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun}"


def minute(time: str) -> str:
    """Shorten an ISO time to `2026-03-01 09:00`."""
    return time[:16].replace("T", " ")


def flush() -> None:
    """Write buffered output now, so that a closed pipe is noticed here."""
    if sys.stdout is not None:
        sys.stdout.flush()


def abandon() -> None:
    """Drop output that cannot be written; Python would report it again at exit."""
    try:
        flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def emit(result: Result, options: argparse.Namespace, show: Callable[[Result], object]) -> int:
    """Print a verb's result as JSON or in words, and return exit code 0."""
    if options.json:
        return as_json(result)
    show(result)
    return 0


def as_json(value: Any) -> int:
    """Print a result as JSON, and return exit code 0."""
    text = json_format.dumps(jsonable(value), ensure_ascii=not _shows_unicode(), indent=2)
    if sys.stdout is not None:
        print(_CONTROL.sub(lambda match: f"\\u{ord(match.group()):04x}", text))
    return 0


def on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty() and _shows_unicode()


def _shows_unicode() -> bool:
    return sys.stdout is not None and (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def table(headings: Cells, rows: Sequence[Cells], *, optional: Cells = (), empty: str = "") -> None:
    """Print a table on a terminal, without `optional` columns if it is narrow, or rows separated by tabs in a pipe."""
    if not rows:
        if empty:
            aside(empty)
        return
    if not on_terminal():
        for row in rows:
            say("\t".join(" ".join(cell.split()) for cell in row))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    shown = list(range(len(headings)))
    for name in optional:
        fixed = sum(widths[column] + COLUMN_GAP for column in shown[:-1])
        if fixed + min(widths[shown[-1]], MIN_LAST_COLUMN) <= console.width:
            break
        shown.remove(headings.index(name))
    drawn = Table(box=box.SIMPLE_HEAD if any(headings) else None, pad_edge=False, show_header=any(headings))
    for column in shown:
        drawn.add_column(headings[column], no_wrap=headings[column] in ("id", "batch"), overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(_CONTROL.sub("", row[column])) for column in shown))
    console.print(drawn)


@contextmanager
def progress(description: str, *, quiet: bool = False) -> Iterator[Callable[[float, int], object]]:
    """Yield a function to call with the work done and the total; it draws a progress bar on a terminal."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def heading(text: str) -> None:
    say()
    if on_terminal():
        print(f"\x1b[1m{_CONTROL.sub('', text)}\x1b[0m")
    else:
        say(text)


def degraded(why: str) -> None:
    if why:
        aside(f"(keywords only: {why})")


def entries(found: Sequence[Entry], *, with_period: bool = False, empty: str = "No matches.") -> None:
    """Print memories as a list, with scores if they have any; `with_period` shows when each was valid."""
    scored = any(isinstance(entry, Hit) for entry in found)
    headings = ["id", *(["score", "by"] if scored else []), "project", "kind", "valid" if with_period else "date"]
    rows = []
    for entry in found:
        memory = entry.memory
        score = [f"{entry.score:.2f}", entry.source] if isinstance(entry, Hit) else []
        remark = dates.describe_status(memory)
        title = f"{memory.title} ({remark})" if remark and not with_period else memory.title
        when = dates.describe_period(memory) if with_period else dates.get_said_day(memory)
        rows.append([memory.id8, *score, memory.project, memory.kind, when, title])
    dropped_first = [name for name in ("by", "kind", "date", "score", "project") if name in headings]
    table([*headings, "title"], rows, optional=dropped_first, empty=empty)


def quoted(text: str, margin: str) -> None:
    say(textwrap.indent(text, margin, lambda _: True))


def whole(entry: Entry) -> None:
    memory = entry.memory
    say(memory.title)
    facts = [memory.id, memory.project, memory.kind, f"layer {memory.layer}", f"importance {memory.importance}"]
    say(" · ".join([*facts, dates.describe_status(memory) or memory.status, dates.get_said_day(memory)]))
    say(f"memem/{entry.path}\n\n{memory.body}" if entry.path else f"\n{memory.body}")
    if memory.evidence:
        say()
        quoted(memory.evidence, "> ")


def written(result: "Written") -> None:
    """Print the outcome of a write, and what was removed from its text."""
    memory = result.memory
    say(f"{OUTCOMES.get(result.outcome, result.outcome)} {memory.id8}  {memory.project}  {memory.title}")
    if result.outcome == "created" and memory.contradicts:
        aside(f"It contradicts {', '.join(memory.contradicts)}; `memem conflicts` shows both and how to resolve it.")
    if result.doubt:
        aside(f"It {result.doubt}. It stays hidden until you accept it with `memem review accept {memory.id8}`.")
    if result.redacted:
        aside(f"Removed before saving: {', '.join(result.redacted)}.")
    if result.neutralised:
        aside(f"Removed {count(result.neutralised, 'invisible or control character')}.")
