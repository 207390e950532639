"""Mine sessions with contradicting statements in any order: the newest holds, dates agree, and nothing is lost.

The extractor is hostile. It proposes to update or supersede whatever it knows of a subject, also what was said later.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from unittest.mock import patch

import hypothesis
import pytest
from hypothesis import strategies as st

from memem.core import dates
from memem.core.conversation import ADD, SUPERSEDE, UPDATE, Chunk, Operation
from memem.core.memory import Memory, id8_of
from memem.mine import apply, schedule
from memem.search import find, refresh
from memem.search.graph import read
from memem.workspace import Workspace
from tests.builders import examples, open_home
from tests.transcripts import Transcript

SUBJECTS = ("staging database", "mail relay", "invoice printer")
FORMS = ("The {} listens on port {}.", "The {} uses port {} instead of port {}.")
DAYS = datetime(2026, 1, 5, tzinfo=UTC)
ZONES = (timezone(timedelta(hours=9)), UTC, timezone(timedelta(hours=-7)))


@dataclass(frozen=True)
class Statement:
    subject: int
    port: int
    form: int
    minute: int  # when it was said
    wish: str
    aims_at: int  # which of the memories it knows

    @property
    def text(self) -> str:
        return FORMS[self.form].format(SUBJECTS[self.subject], 5000 + self.port, 4999 + self.port)

    @property
    def turn(self) -> str:
        """No two turns have the same words, so that a quote is from one of them only."""
        return f"{self.text} That is entry {self.minute}."

    @property
    def time(self) -> datetime:
        return (DAYS + timedelta(minutes=self.minute)).astimezone(ZONES[self.minute % len(ZONES)])


Sessions = Sequence[Sequence[Statement]]


@st.composite
def histories(draw: st.DrawFn, most: int) -> tuple[Sessions, list[int], int]:
    """Sessions, the order in which they are mined, and a bit for each that is mined together with the next."""
    minutes = draw(st.lists(st.integers(0, 40_000), min_size=2, max_size=most, unique=True))
    statements = [
        Statement(
            draw(st.integers(0, len(SUBJECTS) - 1)),
            draw(st.integers(1, 4)),
            draw(st.integers(0, len(FORMS) - 1)),
            minute,
            draw(st.sampled_from((SUPERSEDE, SUPERSEDE, UPDATE, ADD))),
            draw(st.integers(0, 2)),
        )
        for minute in minutes
    ]
    number = draw(st.integers(1, len(statements)))
    sessions = [sorted(statements[start::number], key=lambda each: each.minute)[:3] for start in range(number)]
    return sessions, draw(st.permutations(range(number))), draw(st.integers(0, 2**number - 1))


@dataclass
class Play:
    ws: Workspace
    sessions: Sessions
    folder: Path
    shop: Path
    answers: list[tuple[Chunk, list[Operation]]] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)  # subjects
    uncertain: set[int] = field(default_factory=set)  # subjects of which nobody can tell which memories contradict

    def write(self) -> list[Path]:
        paths = []
        for number, statements in enumerate(self.sessions):
            session = Transcript(self.folder / f"s{number}.jsonl", cwd=self.shop)
            for each in statements:
                session.human(each.turn, timestamp=each.time.isoformat(timespec="milliseconds"))
            paths.append(session.path)
        return paths

    def mine(self, order: Sequence[int], joins: int) -> None:
        paths = self.write()
        with self._answering():
            together: list[Path] = []
            for place, number in enumerate(order):
                together.append(paths[number])
                if not joins >> place & 1 or number == order[-1]:
                    schedule.mine_all(self.ws, together, None, lambda *_: None)
                    together = []

    @contextmanager
    def _answering(self) -> Iterator[None]:
        with patch("memem.mine.ask.extract", self.extract), patch("memem.mine.ask.asks_model", lambda _: True):
            yield

    def extract(self, ws: Workspace, *chunks: Chunk) -> list[tuple[Chunk, list[Operation]]]:
        stale: set[int] = set()
        answers = [self._extract_from(chunk, stale) for chunk in chunks]
        self.answers += answers
        return answers

    def has_one_form(self, subject: int) -> bool:
        """Whether all statements of a subject can be compared."""
        return len({each.form for statements in self.sessions for each in statements if each.subject == subject}) < 2

    def _extract_from(self, chunk: Chunk, stale: set[int]) -> tuple[Chunk, list[Operation]]:
        spoken = {each.turn: each for statements in self.sessions for each in statements}
        notes = [memory for memory in self.memories() if memory.status == "active"]
        operations = []
        for turn in chunk.turns:
            each = spoken[turn.text]
            known = [memory.id8 for memory in notes if SUBJECTS[each.subject] in memory.body]
            target = known[each.aims_at % len(known)] if known and each.wish != ADD else None
            title = f"Port of the {SUBJECTS[each.subject]}"
            wish = (each.wish if target else ADD, target, title, each.text)
            is_first = each.subject not in self.seen
            is_stale = each.subject in stale  # its target may have been replaced by the same answer
            is_plain = wish[0] == SUPERSEDE and not is_stale
            if not is_first and (not target or not (is_plain or self.has_one_form(each.subject))):
                self.uncertain.add(each.subject)
            self.seen.add(each.subject)
            stale.add(each.subject)
            operations.append(Operation(*wish, "fact", "project", 3, (), (), each.turn))
        return replace(chunk, known=tuple(memory.id8 for memory in notes)), operations

    def memories(self) -> list[Memory]:
        refresh.refresh(self.ws)
        return [entry.memory for entry in find.list_memories(self.ws, limit=1_000)] if self._has_vault() else []

    def _has_vault(self) -> bool:
        return self.ws.settings.vault.exists()

    def files(self) -> dict[str, bytes]:
        memories = self.ws.store.paths.ours
        return {path.name: path.read_bytes() for path in memories.rglob("*.md")}

    def check(self) -> None:
        memories = self.memories()
        by_id = {memory.id8: memory for memory in memories}
        spoken = [each for statements in self.sessions for each in statements]
        assert {each.text for each in spoken} <= {memory.body for memory in memories}
        assert read.find_cycles({memory.id: memory for memory in memories}) == []
        for memory in memories:
            begins, ends = dates.get_stated_span(memory, UTC)
            assert begins is not None
            assert ends is None or begins <= ends, f"{memory.body} {memory.valid_from} {memory.valid_to}"
            assert (memory.status == "active") == (not memory.superseded_by)
            if memory.superseded_by:
                said = dates.get_said_time(by_id[id8_of(memory.superseded_by)], UTC)
                assert said is not None
                assert said >= begins or self._is_repeated(by_id[id8_of(memory.superseded_by)])
        for number, subject in enumerate(SUBJECTS):
            told = sorted((each for each in spoken if each.subject == number), key=lambda each: each.minute)
            current = [memory.body for memory in memories if subject in memory.body and memory.status == "active"]
            assert not told or told[-1].text in current, f"{told} {current}"
            if told and number not in self.uncertain:
                assert current == [told[-1].text]

    def _is_repeated(self, memory: Memory) -> bool:
        """A note states when its statement was said first."""
        return [each.text for statements in self.sessions for each in statements].count(memory.body) > 1

    def apply_again(self) -> None:
        """After a crash the last journaled answer is applied again."""
        before = self.files()
        chunk, operations = self.answers[-1]
        if len(operations) == 1:
            apply.apply_all(self.ws, chunk, operations)
        assert self.files() == before


def play(history: tuple[Sessions, list[int], int]) -> None:
    sessions, order, joins = history
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "shop" / ".git").mkdir(parents=True)
        ws = open_home(folder)
        try:
            run = Play(ws, sessions, folder / "projects", folder / "shop")
            run.mine(order, joins)
            run.check()
            before = run.files()
            with run._answering():
                schedule.mine_all(ws, sorted(run.folder.glob("*.jsonl")), None, lambda *_: None)
            assert run.files() == before
            run.apply_again()
        finally:
            ws.close()


@hypothesis.settings(max_examples=examples(40), deadline=None)
@hypothesis.given(histories(7))
def test_any_order_of_mining_keeps_the_newest_in_force(history: tuple[Sessions, list[int], int]) -> None:
    play(history)


@pytest.mark.slow
@hypothesis.settings(max_examples=examples(400), deadline=None)
@hypothesis.given(histories(12))
def test_any_order_of_mining_a_long_history_keeps_the_newest_in_force(
    history: tuple[Sessions, list[int], int],
) -> None:
    play(history)
