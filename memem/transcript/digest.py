"""The work between the words, in a few lines: enough to see what a conversation was about."""

from collections.abc import Iterable, Sequence

from memem.transcript.turns import Work


def digest(works: Sequence[Work], most: int = 1_200) -> str:
    """The files, commands and errors, each named once and in order, in at most `most` characters."""
    parts = [
        ("files touched: ", ", ", _distinct(name for work in works for name in work.files)),
        ("commands run: ", "; ", _distinct(command for work in works for command in work.commands)),
        ("errors seen: ", "; ", _distinct(error for work in works for error in work.errors)),
    ]
    lines: list[str] = []
    left = most
    for number, (label, between, items) in enumerate(parts):
        share = left // (len(parts) - number)  # what one kind leaves unused is there for the next
        if line := _line(label, between, items, share - 1):
            lines.append(line)
            left -= len(line) + 1
    return "\n".join(lines)


def _line(label: str, between: str, items: list[str], most: int) -> str:
    """As many items as fit; with none of them, no line."""
    line = ""
    for item in items:
        longer = f"{line}{between}{item}" if line else f"{label}{item}"
        if len(longer) > most:
            break
        line = longer
    return line


def _distinct(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, (" ".join(item.split()) for item in items))))
