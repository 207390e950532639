"""Sum up work in a few lines for the model that mines: context for what was said, never a source of facts."""

from collections.abc import Iterable, Sequence

from memem.transcript.deeds import COMMAND, READ, WRITTEN, Deed

MAX_CHARS = 1_200
_SHOWN_OUTCOMES = 3  # of a command that ran several times


def digest(deeds: Sequence[Deed], max_chars: int = MAX_CHARS) -> str:
    """List files written, test counts, commands, errors and files read, each thing once, as far as they fit."""
    written = _unique(deed.target for deed in deeds if deed.kind == WRITTEN)
    read = [file for file in _unique(deed.target for deed in deeds if deed.kind == READ) if file not in written]
    errors = _unique(line for deed in deeds for line in deed.errors)
    parts = (
        _row("files written: ", written),
        _row("tests: ", _tests(deeds), "; "),
        _block("commands:", _commands(deeds)),
        _block("errors:", errors),
        _row("files read: ", read),
    )
    # Each part may use what the later ones leave: of those with much to say, every one gets its share.
    lines, left = list[str](), max_chars
    for number, (label, separator, items) in enumerate(parts):
        later = [_size(part) for part in parts[number + 1 :]]
        share = left // (len(parts) - number)
        room = max(share, left - sum(min(size, max_chars // len(parts)) for size in later))
        if text := _fit(label, separator, items, room - 1):
            lines.append(text)
            left -= len(text) + 1
    return "\n".join(lines)


_Part = tuple[str, str, list[str]]


def _row(label: str, items: list[str], separator: str = ", ") -> _Part:
    return label, separator, items


def _block(label: str, items: list[str]) -> _Part:
    return f"{label}\n- ", "\n- ", items


def _size(part: _Part) -> int:
    label, separator, items = part
    return len(label) + sum(len(item) + len(separator) for item in items) + 1 if items else 0


def _fit(label: str, separator: str, items: list[str], room: int) -> str:
    """Return the latest items that fit, in their order."""
    fitting, left = list[str](), room - len(label) + len(separator)
    for item in reversed(items):
        left -= len(item) + len(separator)
        if left < 0:
            break
        fitting.append(item)
    return label + separator.join(reversed(fitting)) if fitting else ""


def _unique(texts: Iterable[str]) -> list[str]:
    """Return each text once, where it comes last."""
    latest = dict.fromkeys(reversed([" ".join(text.split()) for text in texts]))
    return [text for text in reversed(latest) if text]


def _tests(deeds: Sequence[Deed]) -> list[str]:
    """Return the first and the last counts of each runner."""
    runs: dict[str, list[str]] = {}
    for deed in deeds:
        if deed.tests:
            runs.setdefault(deed.tests.runner, []).append(str(deed.tests))
    return [
        (f"{runner}: " if len(runs) > 1 else "") + " -> ".join(dict.fromkeys((counts[0], counts[-1])))
        for runner, counts in runs.items()
    ]


def _commands(deeds: Sequence[Deed]) -> list[str]:
    """Return each command with its outcomes, in the order of the last ones."""
    outcomes: dict[str, list[str]] = {}
    for deed in deeds:
        if deed.kind == COMMAND and deed.target:
            earlier = outcomes.pop(deed.target, None) or []
            if earlier[-1:] != [deed.outcome]:
                earlier.append(deed.outcome)
            outcomes[deed.target] = earlier
    return [_with_outcomes(command, each) for command, each in outcomes.items()]


def _with_outcomes(command: str, outcomes: list[str]) -> str:
    shown = outcomes if len(outcomes) <= _SHOWN_OUTCOMES else [outcomes[0], "…", outcomes[-1]]
    text = " -> ".join(filter(None, shown))
    return f"{command}: {text}" if text else command
