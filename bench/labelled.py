"""The project's own labelled set, `labelled.toml`, as a corpus."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.corpora import Corpus, Question, identity
from memem.core.memory import Memory
from memem.vault import note

FILE = Path(__file__).with_name("labelled.toml")


def load(path: Path = FILE) -> Corpus:
    """The set. Raises ValueError when a key is used twice, or names no memory."""
    tables = read(path)
    memories: dict[str, Memory] = {}
    for table in tables["memory"]:
        if table["key"] in memories:
            raise ValueError(f"{path.name}: two memories have the key {table['key']!r}.")
        memories[table["key"]] = _memory(table)
    _link(path, memories)
    questions = tuple(
        Question(query["text"], query["text"], kind, frozenset(query["wanted"]))
        for kind, queries in tables["queries"].items()
        for query in queries
    )
    for question in questions:
        _check(path, question.wanted, memories)
    source_of = {memory.id: key for key, memory in memories.items()}
    return Corpus("labelled", tuple(memories.values()), source_of, questions)


def read(path: Path = FILE) -> dict[str, Any]:
    """The tables as they are written."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


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
            memories[key] = replace(memory, superseded_by=_wikilink(memories[successor]))
            memories[successor] = replace(memories[successor], supersedes=_wikilink(memory))


def _wikilink(memory: Memory) -> str:
    return f"[[{note.file_name(memory).removesuffix('.md')}]]"


def _check(path: Path, keys: set[str] | frozenset[str], memories: dict[str, Memory]) -> None:
    if unknown := sorted(keys - memories.keys()):
        raise ValueError(f"{path.name}: no memory has the key {unknown[0]!r}.")
