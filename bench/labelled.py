"""The project's own labelled set, `labelled.toml`: its memories and queries as a corpus, and its prompts."""

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.corpora import Corpus, Question, identity
from memem.core.memory import GENERAL, Memory
from memem.vault import note

FILE = Path(__file__).with_name("labelled.toml")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, with the keys of the memories that it should be shown and those it must not be."""

    text: str
    kind: str
    project: str
    wanted: frozenset[str] = frozenset()
    """At least one of them should come; when there are none, nothing should."""
    never: frozenset[str] = frozenset()
    before: tuple[str, ...] = ()
    """The turns just before, each beginning with `user: ` or `assistant: `."""


def load(path: Path = FILE) -> Corpus:
    """The set. Raises ValueError when a key is used twice, or names no memory."""
    tables = read(path)
    memories = _memories(path, tables)
    questions = tuple(
        Question(query["text"], query["text"], kind, frozenset(query["wanted"]))
        for kind, queries in tables["queries"].items()
        for query in queries
    )
    for question in questions:
        _check(path, question.wanted, memories)
    source_of = {memory.id: key for key, memory in memories.items()}
    return Corpus("labelled", tuple(memories.values()), source_of, questions)


def prompts(path: Path = FILE) -> tuple[Prompt, ...]:
    """The prompts. Raises ValueError when one names no memory, or wants one that could not come."""
    tables = read(path)
    memories = _memories(path, tables)
    found = tuple(_prompt(kind, table) for kind, listed in tables["prompts"].items() for table in listed)
    for prompt in found:
        _check(path, prompt.wanted | prompt.never, memories)
        for key in sorted(prompt.wanted):
            _check_wanted(path, prompt, key, memories[key])
    return found


def read(path: Path = FILE) -> dict[str, Any]:
    """The tables as they are written."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _memories(path: Path, tables: dict[str, Any]) -> dict[str, Memory]:
    memories: dict[str, Memory] = {}
    for table in tables["memory"]:
        if table["key"] in memories:
            raise ValueError(f"{path.name}: two memories have the key {table['key']!r}.")
        memories[table["key"]] = _memory(table)
    _link(path, memories)
    return memories


def _memory(table: dict[str, Any]) -> Memory:
    paragraphs = table["text"].strip().split("\n\n")
    return Memory(
        id=identity(f"labelled/{table['key']}"),
        title=table["title"],
        body="\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs),
        project=table["project"],
        kind=table["kind"],
        keys=tuple(table.get("keys", ())),
        paths=tuple(table.get("paths", ())),
        superseded_by=table.get("superseded_by", ""),
    )


def _link(path: Path, memories: dict[str, Memory]) -> None:
    """Keys of successors become links to their notes, and the successors link back."""
    for key, memory in list(memories.items()):
        if successor := memory.superseded_by:
            _check(path, {successor}, memories)
            memories[key] = replace(memories[key], superseded_by=_wikilink(memories[successor]))
            memories[successor] = replace(memories[successor], supersedes=_wikilink(memory))


def _wikilink(memory: Memory) -> str:
    return f"[[{note.file_name(memory).removesuffix('.md')}]]"


def _prompt(kind: str, table: dict[str, Any]) -> Prompt:
    return Prompt(
        text=table["text"],
        kind=kind,
        project=table["project"],
        wanted=frozenset(table.get("wanted", ())),
        never=frozenset(table.get("never", ())),
        before=tuple(table.get("before", ())),
    )


def _check_wanted(path: Path, prompt: Prompt, key: str, memory: Memory) -> None:
    if memory.project not in (prompt.project, GENERAL):
        raise ValueError(
            f"{path.name}: {prompt.text!r} is typed in {prompt.project} and wants {key!r} of another project."
        )
    if memory.superseded_by:
        raise ValueError(f"{path.name}: {prompt.text!r} wants {key!r}, which was superseded.")


def _check(path: Path, keys: set[str] | frozenset[str], memories: dict[str, Memory]) -> None:
    if unknown := sorted(keys - memories.keys()):
        raise ValueError(f"{path.name}: no memory has the key {unknown[0]!r}.")
