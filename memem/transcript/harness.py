"""Recognise text in a message that was not typed: Claude Code's tags and memem's own slice."""

import re
from collections.abc import Iterable, Iterator

from memem.core.memory import SLICE_HEADING

_NAMES = r"system-reminder|ide_\w+|new-diagnostics|[a-z-]+-hook"
_OPENING, _CLOSING = re.compile(rf"<({_NAMES})>"), re.compile(rf"</({_NAMES})>")
_INTERRUPTED = re.compile(r"\A\s*\[Request interrupted by user[^\]\n]*\]")
# Where an image was pasted, and a line that describes one.
_IMAGE_MARK = re.compile(r"\[Image #\d+\] ?|^\[Image(?: source)?: [^\]\n]*\]$", re.MULTILINE)
_UNTYPED = re.compile(
    r"""\s*(?: <(?: command-(?:name|message|args) | local-command-(?:stdout|stderr|caveat) | bash-(?:stdout|stderr)
                 | task-notification | teammate-message | agent-message | cross-session-message
                 | user-prompt-submit-hook )\b
          | Operation\ stopped\ by\ hook\b | Stop\ hook\ feedback: | Tool\ loaded\.\s*\Z
          | This\ session\ is\ being\ continued\ from\ a\ previous\ conversation
          | Caveat:\ The\ messages\ below\ were\ generated\ by\ the\ user\ while\ running\ local\ commands )""",
    re.VERBOSE,
)
_COMMAND = re.compile(r"\s*<(?:command-(?:name|message|args)|bash-input)>")
_COMMAND_NAME = re.compile(r"<command-name>\s*(/?[^<\s]+)\s*</command-name>")
_COMMAND_ARGUMENTS = re.compile(r"<command-args>(.*)</command-args>", re.DOTALL)
_OWN_COMMAND = re.compile(r"/(?:memem\b.*|remember|recall|forget)")  # memem has done what they ask for
_SHELL = re.compile(r"\s*<bash-input>(.*?)</bash-input>\s*", re.DOTALL)
# A line of a slice behind its heading, and one that names a memory: behind its date, as a person may have written it.
_SLICE_LINE = re.compile(r"## \S.*|- [A-Z]\w*: .*|- Pinned · .*|\d+\. .* · \*\*.*|  +>.*|\s*")
_ID = re.compile(r"(?:\d+\. (?:.{1,10} · )??|- Pinned · )(\S{8}) · ")


def typed_text(text: str) -> str:
    """Remove everything that Claude Code or memem has added to a message."""
    text = _IMAGE_MARK.sub("", _without_tags(_INTERRUPTED.sub("", text)))
    if SLICE_HEADING in text:
        text = "".join(line for line, is_ours in _marked(text.splitlines(keepends=True)) if not is_ours)
    return text.strip()


def is_untyped(text: str) -> bool:
    """Whether a user message was made by Claude Code: a slash command, its output, news of a task."""
    return _UNTYPED.match(_without_tags(text)) is not None


def is_command(text: str) -> bool:
    """Whether a message is a command as a person typed it, without output."""
    return _COMMAND.match(text) is not None and "-stdout>" not in text and "-stderr>" not in text


def parse_command_arguments(text: str) -> tuple[str, str] | None:
    """Return the name and the arguments of a slash command, unless it has none or is memem's."""
    name, arguments = _COMMAND_NAME.search(text), _COMMAND_ARGUMENTS.search(text)
    if not is_command(text) or not name or not arguments or _OWN_COMMAND.fullmatch(name[1]):
        return None
    typed = typed_text(arguments[1])
    return (name[1], typed) if typed else None


def hidden_parts(text: str) -> Iterator[str]:
    """Yield the elements that Claude Code, an editor or a hook has put into a message."""
    return (text[opening.end() : closing.start()] for opening, closing in _elements(text))


def shell_command(text: str) -> str | None:
    """Return the command that a person ran with `!`, if the message is one."""
    match = _SHELL.fullmatch(text)
    return match[1] if match else None


def slice_ids(text: str) -> Iterator[str]:
    for line, is_ours in _marked(text.splitlines() if SLICE_HEADING in text else []):
        if is_ours and (match := _ID.match(line)):
            yield match[1]


def _without_tags(text: str) -> str:
    """Remove elements; one that is never closed stays."""
    kept, place = [], 0
    for opening, closing in _elements(text):
        kept.append(text[place : opening.start()])
        place = closing.end()
    return "".join(kept) + text[place:]


def _elements(text: str) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    """Yield the tags of each element that is closed and not inside another one."""
    openings = list(_OPENING.finditer(text))
    closings: dict[str, list[re.Match[str]]] = {}  # found in one pass: thousands of tags may never be closed
    for closing in reversed(list(_CLOSING.finditer(text)) if openings else []):
        closings.setdefault(closing[1], []).append(closing)
    place = 0
    for opening in openings:
        if opening.start() < place:
            continue  # inside an element
        ahead = closings.get(opening[1], [])
        while ahead and ahead[-1].start() < opening.end():
            ahead.pop()
        if ahead:
            yield opening, ahead[-1]
            place = ahead[-1].end()


def _marked(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    inside = False
    for line in lines:
        bare = line.rstrip()
        inside = bare == SLICE_HEADING or (inside and _SLICE_LINE.fullmatch(bare) is not None)
        yield line, inside
