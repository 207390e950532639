"""No text takes longer than its length explains: what a pattern could be made to try again and again is tried once."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from memem.compare import tokens
from memem.compare.shorten import first_sentence, shorten
from memem.core.conversation import HUMAN, Turn
from memem.core.errors import FREE
from memem.core.memory import Memory
from memem.mine import prompt, rules
from memem.mine.proof.quotes import match_quote
from memem.model import claude, plugin
from memem.notes import repository, symbols
from memem.pages import markdown, playbook_page
from memem.safety import gate
from memem.search import note_rows
from memem.transcript import harness, outcomes
from memem.transcript.deeds import COMMAND, Deed
from memem.transfer.readers import instructions
from memem.vault import forgotten, obsidian
from memem.vault import note as notes

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")

LENGTH = 60_000
SECONDS = 10.0
"""Each takes hundredths of a second, or, with a pattern that goes back, minutes to years."""
SAID, SLIPPED = "well, we recieve the first of the events", "we receive the first of events"


def _answer(text: str) -> object:
    return claude._value(None, text, FREE)


READERS: dict[str, Callable[[str], object]] = {
    "a note": lambda text: notes.parse("memories/a.md", text.encode(), "derived-id"),
    "a file name": lambda text: notes.file_name(Memory("3f2c9a1e-0000", text, "b")),
    "a check of a note": lambda text: obsidian.find_violations(text, obsidian.VaultNames([])),
    "a half merged note": lambda text: note_rows.has_merge_conflict(text.encode()),
    "a page": lambda text: markdown.merge_part(text, "x"),
    "a playbook": playbook_page.parse_page,
    "instructions": lambda text: list(instructions.statements(text)),
    "what was said": harness.typed_text,
    "what a command printed": lambda text: (outcomes.count_tests(text), list(outcomes.find_errors(text))),
    "escapes": outcomes.without_escapes,
    "a command": lambda text: (outcomes.is_own("Bash", f"{text} memem"), outcomes.is_look(text)),
    "the end of a command": lambda text: (outcomes.hides_exit_code(text), outcomes.without_shortening(text)),
    "paths": lambda text: Deed(COMMAND, text, errors=(text,)).seen_from(("/srv/shop",)),
    "what rules find": lambda text: rules.extract([Turn("u", HUMAN, text)]),
    "a quote in a turn": lambda text: match_quote([Turn("u", HUMAN, f"{text} {SAID}")], SLIPPED),
    "a long quote": lambda text: match_quote([Turn("u", HUMAN, f"{SAID} {text}")], f"{SLIPPED} … {text}"),
    "a short part of a turn": lambda text: match_quote([Turn("u", HUMAN, text, repeats=(text[:99],))], text[40:300]),
    "a fence": prompt.escape_tags,
    "identifiers": repository.identifiers,
    "definitions": lambda text: [symbols.is_defined(name, text) for name in ("a", "x")],
    "a shorter line": lambda text: (shorten(text, 200), first_sentence(text)),
    "sentences that were forgotten": forgotten.split_sentences,
    "plain words": tokens.plain,
    "tokens": tokens.sentences,
    "the gate": lambda text: gate.cleanse(Memory("3f2c9a1e-0000", "t", text)),
    "an answer": _answer,
    "a version": lambda text: plugin.look_at_account(lambda *_: text),
}
TEXTS = {
    "spaces in a heading": "# " + " " * LENGTH + "x",
    "hashes": "# " + "#" * LENGTH + "x",
    "hashes and spaces": "# " * (LENGTH // 2) + "x",
    "backticks": "`" * LENGTH + "x",
    "backticks in a line": "` `` " * (LENGTH // 5),
    "comments that are not closed": "<!-- " * (LENGTH // 5),
    "brackets": "[" * LENGTH,
    "links that are not closed": "[a](" * (LENGTH // 4),
    "a long link": "[a](" + "a" * LENGTH,
    "letters": "a" * LENGTH + "!",
    "digits": "9" * LENGTH + "!",
    "dots": "." * LENGTH + "x",
    "dashes": "-" * LENGTH + "x",
    "equals": "=" * LENGTH + "x",
    "spaces": " " * LENGTH + "x",
    "lines": "\n" * LENGTH + "x",
    "tags that are not closed": "<system-reminder>" * (LENGTH // 17),
    "tags of many names": "".join(f"<ide_{number}>" for number in range(LENGTH // 11)),
    "hooks that are not closed": "<a-hook>" * (LENGTH // 8),
    "a tag and spaces": "<" + " " * LENGTH + "x",
    "a fence and lines": "```json" + "\n" * LENGTH + "x",
    "counts of tests": "9 passed, " * (LENGTH // 10) + "x",
    "commands that look": "ls ;" * (LENGTH // 4) + "x",
    "assignments": "a=b " * (LENGTH // 4),
    "escapes": "\x1b[" * (LENGTH // 2),
    "Chinese": "中" * LENGTH,
    "a merge that does not end": "<<<<<<< \n" * (LENGTH // 18) + "=======\n" * (LENGTH // 16),
}


class Late(BaseException):
    pass


@contextmanager
def in_time() -> Iterator[None]:
    def late(_: int, __: FrameType | None) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("text", TEXTS)
def test_every_reader_is_done_in_time(text: str) -> None:
    from memem.core.errors import MememError

    late = []
    for name, read in READERS.items():
        try:
            with in_time():
                read(TEXTS[text])
        except MememError:
            continue
        except Late:
            late.append(name)
    assert late == []
