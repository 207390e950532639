"""Pair calls of tools with their results, which may come much later, and keep what the digest shows of them."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from memem.transcript import outcomes
from memem.transcript.outcomes import TestCounts
from memem.transcript.work import READING_TOOL, SHELL_TOOL, Result, ToolCall, Work

WRITTEN, READ, COMMAND, OTHER = "written", "read", "command", "other"
OK, FAILED, REJECTED, STARTED = "ok", "failed", "rejected", "started"
RAN = "ran"  # with an exit code that is not its own
MAX_CALLS = 2_000  # that wait for results or may get another one
MAX_TARGET_CHARS = 4_000
MAX_COMMAND_CHARS = 160
_OUTPUT_TOOLS = ("BashOutput", "TaskOutput")  # of a command that runs in the background
_HEREDOC = re.compile(r"<<-?\s*['\"]?\w+['\"]?\)?\s*\Z")
_USER_HOME = re.compile(r"(?<![\w./~-])(?:[A-Za-z]:)?/(?:(?:Users|home)/[^/\s\"':;,()]+|root)(?=/|\s|\Z)")
_DRIVE = re.compile(r"\A[A-Za-z]:[\\/]|\A\\\\")


@dataclass(frozen=True, slots=True)
class Deed:
    """A finished call, without secrets: the file or command, how it ended, and what its output says."""

    kind: str
    target: str = ""
    folder: str = ""
    outcome: str = ""
    tests: TestCounts | None = None
    errors: tuple[str, ...] = ()

    def seen_from(self, roots: Iterable[str]) -> "Deed":
        """Return it with paths relative to the first of these folders, or its own, that they are in."""
        spelled = [_slashed(root).rstrip("/") for root in (*roots, self.folder)]
        folders = [root for root in dict.fromkeys(spelled) if root]
        errors = tuple(_shorten_paths(line, folders) for line in self.errors)
        if self.kind == COMMAND:
            return replace(self, target=_shorten_paths(self.target, folders)[:MAX_COMMAND_CHARS].strip(), errors=errors)
        return replace(self, target=_relative(self.target, folders), errors=errors)


class DeedReader:
    """Pairs calls and results in the order of a transcript; `clean` removes secrets from a text.

    `earlier` returns calls from before the reading began; it is called once, if a result belongs to none that was read.
    """

    def __init__(self, clean: Callable[[str], str], earlier: Callable[[], Iterable[ToolCall]] = tuple) -> None:
        self._clean = clean
        self._earlier: Callable[[], Iterable[ToolCall]] | None = earlier
        self._calls: dict[str, ToolCall] = {}

    def follow(self, work: Work) -> list[Deed]:
        """Return what ended with this line."""
        for call in work.calls:
            self._add(call)
        calls = ((self._find(result.identity), result) for result in work.results)
        deeds = [deed for call, result in calls if call for deed in self._deeds(call, result)]
        by_person = (Deed(COMMAND, self._command(text)) for text in work.commands if not outcomes.is_own("", text))
        return [*deeds, *by_person]

    def forget(self) -> None:
        """Forget the calls, since they may not be used."""
        self._calls.clear()
        self._earlier = None

    def _add(self, call: ToolCall) -> None:
        self._calls.pop(call.identity, None)
        self._calls[call.identity] = replace(call, target=call.target[: MAX_TARGET_CHARS + 1])
        if len(self._calls) > MAX_CALLS:
            del self._calls[next(iter(self._calls))]

    def _find(self, identity: str) -> ToolCall | None:
        if identity not in self._calls and self._earlier:
            earlier, self._earlier = self._earlier, None
            for call in earlier():
                if call.identity not in self._calls:
                    self._add(call)
        return self._calls.get(identity)

    def _deeds(self, call: ToolCall, result: Result) -> Iterator[Deed]:
        if outcomes.is_own(call.tool, call.target if call.tool == SHELL_TOOL else ""):
            return
        outcome = _outcome(result)
        has_output = call.tool == SHELL_TOOL or call.tool in _OUTPUT_TOOLS
        tests = None
        if has_output and outcome != REJECTED:
            tests = outcomes.count_tests(outcomes.without_escapes(result.text[-outcomes.MAX_OUTPUT_CHARS :]))
        errors = self._errors(result.text) if outcome.startswith(FAILED) else ()
        if call.tool == SHELL_TOOL:
            if outcome != OK or not outcomes.is_look(call.target):
                if outcome == OK and tests:
                    outcome = FAILED if tests.failed else OK
                elif outcome == OK and outcomes.hides_exit_code(call.target):
                    outcome = RAN
                yield Deed(COMMAND, self._command(call.target), call.folder, outcome, tests, errors)
        elif call.is_file and outcome == OK:
            kind = READ if call.tool == READING_TOOL else WRITTEN
            yield Deed(kind, self._clean_start(call.target), call.folder)
        elif tests or errors:
            yield Deed(OTHER, folder=call.folder, tests=tests, errors=errors)

    def _command(self, text: str) -> str:
        """Return the first line of a command, and that of the text it reads."""
        first, *more = [line.strip() for line in self._clean_start(text).splitlines() if line.strip()] or [""]
        return _one_line(
            f"{first} {more[0]}" if more and _HEREDOC.search(first) else outcomes.without_shortening(first)
        )

    def _clean_start(self, text: str) -> str:
        if len(text) <= MAX_TARGET_CHARS:
            return self._clean(text).strip()
        # A cut text may end within a secret, which is then not recognised: drop its last word.
        words = self._clean(text[:MAX_TARGET_CHARS]).rsplit(None, 1)
        return words[0].strip() if len(words) == 2 else ""

    def _errors(self, text: str) -> tuple[str, ...]:
        # The secrets are removed first: of a key over many lines, only some may be kept.
        text = outcomes.without_escapes(text.replace("<tool_use_error>", "").replace("</tool_use_error>", ""))
        if len(text) > outcomes.MAX_OUTPUT_CHARS:
            text = text[-outcomes.MAX_OUTPUT_CHARS :].partition("\n")[2]
        return tuple(outcomes.find_errors(self._clean(text)))


def _outcome(result: Result) -> str:
    if result.is_error:
        if result.is_denied or outcomes.is_rejected(result.text):
            return REJECTED
        code = outcomes.read_exit_code(result.text)
        return f"{FAILED} ({code})" if code else FAILED
    return STARTED if outcomes.is_started(result.text) else OK


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _slashed(path: str) -> str:
    return path.replace("\\", "/") if _DRIVE.match(path) else path


def _relative(path: str, folders: Sequence[str]) -> str:
    path = _one_line(_slashed(path))
    for folder in folders:
        if path.startswith(f"{folder}/"):
            return path[len(folder) + 1 :]
    in_home = _USER_HOME.sub("~", path, count=1)
    is_absolute = in_home.startswith("/") or _DRIVE.match(in_home)
    return in_home.rpartition("/")[2] if is_absolute else in_home.removeprefix("./")


def _shorten_paths(text: str, folders: Sequence[str]) -> str:
    for folder in folders:
        name = rf"(?<![\w./~-]){re.escape(folder)}"
        text = re.sub(rf"\Acd [\"']?{re.escape(folder)}/?[\"']? ?(?:&&|;) ?", "", text)
        text = re.sub(rf"{name}(?:/(?=[\w.])|/?(?![\w.-]))", _as_relative, text)
    return _USER_HOME.sub("~", text)


def _as_relative(match: re.Match[str]) -> str:
    rest = match.string[match.end() : match.end() + 1]
    return "" if match[0].endswith("/") and rest.strip() else "."
