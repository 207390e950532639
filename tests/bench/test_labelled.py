"""The labelled set keeps its own rules: keys exist, literals stand where they should, paraphrases are some."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench import labelled
from bench.corpora import Corpus, vault
from memem.core.memory import GENERAL, KINDS, Memory
from memem.flows import retrieve
from memem.gate.verdict import cleanse
from memem.index import words

LEAST = {"keyword": 25, "paraphrase": 40, "literal": 30, "cjk": 20, "question": 20, "long": 10, "multi": 12}
STEM = 5
"""Longer words with the same first letters count as one: `migrate`, `migrations`."""
_HAN, _KANA, _HANGUL = (re.compile(f"[{span}]") for span in ("\u4e00-\u9fff", "\u3040-\u30ff", "\uac00-\ud7ff"))


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return labelled.load()


@pytest.fixture(scope="module")
def memories(corpus: Corpus) -> dict[str, Memory]:
    return {corpus.source_of[memory.id]: memory for memory in corpus.memories}


def queries(kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = labelled.read()["queries"][kind]
    return found


def everything(memory: Memory) -> str:
    return "\n".join((memory.title, memory.body, *memory.keys, *memory.paths))


def content_words(text: str) -> set[str]:
    """What a text asks for, endings cut off."""
    return {term.text[:STEM] if term.text.isascii() else term.text for term in words.asked(text, 10_000)}


def test_there_are_enough_queries_of_every_kind(corpus: Corpus) -> None:
    counts = Counter(question.kind for question in corpus.questions)
    assert counts.keys() == LEAST.keys()
    assert {kind: counts[kind] for kind in LEAST if counts[kind] < LEAST[kind]} == {}


def test_memories_are_of_six_projects_and_of_none_in_particular(corpus: Corpus) -> None:
    counts = Counter(memory.project for memory in corpus.memories)
    assert len(counts) == 7
    assert GENERAL in counts
    assert min(counts.values()) >= 10


def test_every_memory_is_of_a_kind_that_memem_knows(corpus: Corpus) -> None:
    assert {memory.kind for memory in corpus.memories} == set(KINDS)


def test_no_two_queries_are_the_same(corpus: Corpus) -> None:
    counts = Counter(question.text.casefold() for question in corpus.questions)
    assert [text for text, count in counts.items() if count > 1] == []


def test_every_query_wants_as_many_memories_as_its_kind_says(corpus: Corpus) -> None:
    wrong = [each.text for each in corpus.questions if (len(each.wanted) > 1) != (each.kind == "multi")]
    assert wrong == []


def test_no_query_wants_what_was_superseded(corpus: Corpus, memories: dict[str, Memory]) -> None:
    assert [each.text for each in corpus.questions if any(memories[key].superseded_by for key in each.wanted)] == []


def test_the_gate_takes_nothing_out(corpus: Corpus) -> None:
    assert [cleanse(memory).memory for memory in corpus.memories] == list(corpus.memories)


@pytest.mark.parametrize("query", queries("literal"), ids=lambda query: query["literal"])
def test_a_literal_stands_in_its_query_and_in_just_the_wanted_memories(
    query: dict[str, Any], memories: dict[str, Memory]
) -> None:
    literal = query["literal"].casefold()
    assert literal in query["text"].casefold()
    assert sorted(key for key, memory in memories.items() if literal in everything(memory).casefold()) == sorted(
        query["wanted"]
    )


@pytest.mark.parametrize("query", queries("paraphrase"), ids=lambda query: query["text"])
def test_a_paraphrase_shares_at_most_one_word_with_its_memory(
    query: dict[str, Any], memories: dict[str, Memory]
) -> None:
    (key,) = query["wanted"]
    assert len(content_words(query["text"]) & content_words(everything(memories[key]))) <= 1


@pytest.mark.parametrize("query", queries("keyword"), ids=lambda query: query["text"])
def test_a_keyword_query_shares_two_words_with_its_memory(query: dict[str, Any], memories: dict[str, Memory]) -> None:
    (key,) = query["wanted"]
    assert len(content_words(query["text"]) & content_words(everything(memories[key]))) >= 2


@pytest.mark.parametrize("query", queries("cjk"), ids=lambda query: query["text"])
def test_a_cjk_query_is_in_the_language_of_its_memory(query: dict[str, Any], memories: dict[str, Memory]) -> None:
    (key,) = query["wanted"]
    assert language(query["text"]) == language(memories[key].body) == key[:2]


@pytest.mark.parametrize("query", queries("long"), ids=lambda query: query["text"])
def test_a_long_query_wants_a_long_memory(query: dict[str, Any], memories: dict[str, Memory]) -> None:
    (key,) = query["wanted"]
    assert 8 <= len(memories[key].body.split("\n\n")) <= 15


def test_superseded_memories_link_to_their_successors_and_back(memories: dict[str, Memory]) -> None:
    old, new = memories["pw-zod"], memories["pw-valibot"]
    assert old.superseded_by.endswith(f"-{new.id8}]]")
    assert new.supersedes.endswith(f"-{old.id8}]]")


def test_memem_reads_every_memory_as_it_was_written(corpus: Corpus, tmp_path: Path) -> None:
    ws = vault(tmp_path, corpus.memories)
    found = {entry.id: entry.memory for entry in retrieve.list_memories(ws, limit=1_000)}
    ws.close()
    assert found == {memory.id: memory for memory in corpus.memories}


MADE_UP = """
[[memory]]
key = "walrus"
project = "zoo"
kind = "fact"
title = "Walrus"
text = \"\"\"
The walrus eats
at noon.

It is fed twice.
\"\"\"

[queries]
question = [{ text = "when does the walrus eat?", wanted = ["walrus"] }]
"""


def test_line_breaks_are_spaces_and_empty_lines_begin_paragraphs(tmp_path: Path) -> None:
    (memory,) = labelled.load(written(tmp_path, MADE_UP)).memories
    assert memory.body == "The walrus eats at noon.\n\nIt is fed twice."


def test_a_question_wants_the_keys_it_names_in_all_projects(tmp_path: Path) -> None:
    (question,) = labelled.load(written(tmp_path, MADE_UP)).questions
    assert (question.kind, question.wanted, question.project) == ("question", frozenset({"walrus"}), None)


def test_a_key_that_no_memory_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no memory has the key 'seal'"):
        labelled.load(written(tmp_path, MADE_UP.replace('wanted = ["walrus"]', 'wanted = ["seal"]')))


def test_a_successor_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no memory has the key 'seal'"):
        labelled.load(written(tmp_path, MADE_UP.replace("project =", 'superseded_by = "seal"\nproject =')))


def test_a_key_used_twice_is_refused(tmp_path: Path) -> None:
    memory, queried = MADE_UP.split("[queries]")
    with pytest.raises(ValueError, match="two memories have the key 'walrus'"):
        labelled.load(written(tmp_path, f"{memory}{memory}[queries]{queried}"))


def written(folder: Path, text: str) -> Path:
    path = folder / "set.toml"
    path.write_text(text, encoding="utf-8")
    return path


def language(text: str) -> str:
    if _HANGUL.search(text):
        return "ko"
    if _KANA.search(text):
        return "ja"
    return "zh" if _HAN.search(text) else ""
