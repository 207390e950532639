"""Load the sets that recall is measured on: memories, questions, and the sources that answer each question.

Two public sets are read from a folder that its user provides; nothing of them is part of the project. A file's name
says which set it is and, after a hyphen, which part of it: any part will do.

`devmem-*.jsonl.gz`, one line: coding sessions, and questions with the sessions that answer them. Every message is a
memory; the session it came from is what counts.

`longmemeval-*.jsonl.gz`, a line per question: the question, the sessions it is asked of, and those that answer it.
Every session is one long memory, and every question's sessions are a project of their own.

`crowded` is made of both: the questions of devmem, asked of a vault in which thousands of notes are about other things.
"""

import gzip
import json
import os
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from memem.core.errors import InputError
from memem.core.memory import Memory
from memem.search import refresh
from memem.vault import note
from memem.workspace import Workspace, open_workspace

PROJECT = "bench"
DEPTH = 10
DEVMEM, LONGMEMEVAL, PROMPTS = "devmem", "longmemeval", "prompts"
LEAST_CROWD, MOST_CROWD = 5_000, 5_200
"""So many notes about other things crowd a vault."""
_CROWDING = range(20, 1_501)
"""How long what somebody said may be to become one of them."""
_TITLE = 80


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the sources that answer it, and the project it is limited to, if any."""

    key: str
    text: str
    kind: str
    wanted: frozenset[str]
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Corpus:
    """A set: its memories, where each came from, the questions, and how many memories to ask for each time."""

    name: str
    memories: tuple[Memory, ...]
    source_of: Mapping[str, str]  # by the memory's id
    questions: tuple[Question, ...]
    depth: int = DEPTH
    complete: bool = True

    def ranking(self, identities: Iterable[str]) -> list[str]:
        """The sources of these memories, each at the place of its best memory."""
        return list(dict.fromkeys(self.source_of[identity] for identity in identities))

    def sample(self, count: int, seed: int) -> "Corpus":
        """Some of the questions, always the same ones, with the memories that they can reach."""
        if count >= len(self.questions):
            return self
        chosen = sorted(Random(seed).sample(range(len(self.questions)), count))
        questions = tuple(self.questions[number] for number in chosen)
        scopes = {question.project for question in questions}
        memories = tuple(memory for memory in self.memories if None in scopes or memory.project in scopes)
        return replace(self, memories=memories, questions=questions, complete=False)


def devmem(data: Path) -> Corpus:
    """Messages as memories. Questions that no session answers are left out."""
    (dialogue, *_) = lines(file(data, DEVMEM))
    memories: list[Memory] = []
    source_of: dict[str, str] = {}
    for session in dialogue["sessions"]:
        for number, message in enumerate(session["messages"]):
            memory = _memory(f"{session['sessionId']}/{number}", message["content"], PROJECT)
            memories.append(memory)
            source_of[memory.id] = session["sessionId"]
    questions = tuple(
        Question(
            key=question.get("questionId", question["question"]),
            text=question["question"],
            kind=question.get("questionType", ""),
            wanted=frozenset(question["haystackSessionIds"]),
        )
        for question in dialogue["questions"]
        if question["haystackSessionIds"]
    )
    # A session has several messages: ten sessions take more than ten memories.
    return Corpus("devmem", tuple(memories), source_of, questions, depth=10 * DEPTH)


def longmemeval(data: Path) -> Corpus:
    """Sessions as memories, those of each question in a project of its own."""
    memories: dict[str, Memory] = {}
    source_of: dict[str, str] = {}
    questions: list[Question] = []
    for line in lines(file(data, LONGMEMEVAL)):
        project = f"q-{line['question_id']}".lower()
        for session in line["sessions"]:
            body = "\n\n".join(f"{turn['role']}: {turn['content']}" for turn in session["turns"])
            asked = next((turn["content"] for turn in session["turns"] if turn["role"] == "user"), body)
            memory = _memory(f"{line['question_id']}/{session['id']}", body, project, opening=asked)
            memories[memory.id] = memory
            source_of[memory.id] = session["id"]
        wanted = frozenset(line["answer_session_ids"])
        questions.append(Question(line["question_id"], line["question"], line["question_type"], wanted, project))
    return Corpus("longmemeval", tuple(memories.values()), source_of, tuple(questions))


def crowded(data: Path) -> Corpus:
    """devmem among what the users of longmemeval said: each such note is a source of its own, and takes a place."""
    asked = devmem(data)
    texts = dict.fromkeys(
        turn["content"]
        for line in lines(file(data, LONGMEMEVAL))
        for session in line["sessions"]
        for turn in session["turns"]
        if turn["role"] == "user" and len(turn["content"]) in _CROWDING
    )
    if len(texts) < LEAST_CROWD:
        raise InputError(f"A crowded vault needs {LEAST_CROWD:,} unrelated notes; {LONGMEMEVAL} has {len(texts):,}.")
    crowd = tuple(_memory(f"crowd/{text}", text, PROJECT) for text in islice(texts, MOST_CROWD))
    source_of = {**asked.source_of, **{memory.id: memory.id for memory in crowd}}
    return replace(asked, name="crowded", memories=(*asked.memories, *crowd), source_of=source_of)


def prompts(data: Path) -> list[str]:
    """Return prompts that people typed about an unrelated project."""
    return [line["prompt"] for line in lines(file(data, PROMPTS))]


def vault(folder: Path, memories: Iterable[Memory]) -> Workspace:
    """A memory home in this folder that holds just these memories, indexed. What already stands there is kept."""
    # The caller's environment tells where the model is; home and vault are ours.
    environ = os.environ | {"MEMEM_FSYNC": "0"}
    ws = open_workspace(actor="bench", home=folder / "home", vault=folder / "vault", environ=environ)
    ws.store.make_vault()
    wanted = {note.file_name(memory): note.new_text(memory).encode() for memory in memories}
    there = {path.name: path for path in ws.store.paths.memories.glob("*.md")}
    for name in there.keys() - wanted.keys():
        there[name].unlink()
    for name, data in wanted.items():
        if name not in there or there[name].read_bytes() != data:
            (ws.store.paths.memories / name).write_bytes(data)
    refresh.refresh(ws)
    return ws


def file(data: Path, name: str) -> Path:
    """The one file of a set in the folder with the evaluation files."""
    pattern = f"{name}-*.jsonl.gz"
    found = sorted(data.glob(pattern))
    if not found:
        raise InputError(f"{data} holds no file {pattern}: give the folder with the evaluation files.")
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise InputError(f"{data} holds several files {pattern}: {names}. Leave one of them in it.")
    return found[0]


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a compressed file with one of them a line."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def identity(key: str) -> str:
    """The id that a key always gets."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, key))


def _memory(key: str, text: str, project: str, *, opening: str = "") -> Memory:
    """A memory whose title is how its text, or what opened it, begins."""
    title = " ".join((opening or text)[:_TITLE].split())
    return Memory(id=identity(key), title=title, body=text, project=project)
