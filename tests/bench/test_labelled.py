"""The labelled set keeps its own rules: keys exist, literals stand where they should, paraphrases are some, and
prompts want what their kind says."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench import labelled
from bench.corpora import Corpus, vault
from memem.core.memory import GENERAL, KINDS, Memory
from memem.safety.gate import cleanse
from memem.search import find, fulltext

LEAST = {"keyword": 25, "paraphrase": 40, "literal": 30, "cjk": 20, "question": 20, "long": 10, "multi": 12}
LEAST_PROMPTS = {
    "task": 50,
    "ask": 30,
    "off-topic": 60,
    "near-miss": 40,
    "trivial": 25,
    "stale": 10,
    "wrong-project": 20,
    "follow-up": 20,
    "cjk": 12,
}
WANTING, SILENT, EITHER = (
    {"task", "ask", "stale"},
    {"off-topic", "near-miss", "trivial", "wrong-project"},
    {"follow-up": (14, 6), "cjk": (8, 4)},
)
"""Kinds of which each prompt wants a memory, kinds of which none does, and how many at least do and do not."""
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


@pytest.fixture(scope="module")
def prompts() -> tuple[labelled.Prompt, ...]:
    return labelled.prompts()


def everything(memory: Memory) -> str:
    return "\n".join((memory.title, memory.body, *memory.keys, *memory.paths))


def content_words(text: str) -> set[str]:
    """Return the stems of a text's words."""
    return {term.text[:STEM] if term.text.isascii() else term.text for term in fulltext.query_terms(text, 10_000)}


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


def test_no_query_wants_a_superseded_memory(corpus: Corpus, memories: dict[str, Memory]) -> None:
    assert [each.text for each in corpus.questions if any(memories[key].superseded_by for key in each.wanted)] == []


def test_the_gate_takes_nothing_out(corpus: Corpus) -> None:
    assert [cleanse(memory).memory for memory in corpus.memories] == list(corpus.memories)


@pytest.mark.parametrize("query", queries("literal"), ids=lambda query: query["literal"])
def test_a_literal_occurs_in_its_query_and_in_the_wanted_memories_only(
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


def test_at_least_six_memories_were_superseded_and_twice_their_successors_too(corpus: Corpus) -> None:
    assert sum(bool(memory.superseded_by) for memory in corpus.memories) >= 6
    assert sum(bool(memory.superseded_by and memory.supersedes) for memory in corpus.memories) == 2


def test_superseded_memories_and_their_successors_are_of_one_project(corpus: Corpus) -> None:
    named = {f"-{memory.id8}]]": memory for memory in corpus.memories}
    pairs = [(memory, named[memory.superseded_by[-11:]]) for memory in corpus.memories if memory.superseded_by]
    assert [old.title for old, new in pairs if (old.project, old.title) != (new.project, new.title)] == []


def test_there_are_enough_prompts_of_every_kind(prompts: tuple[labelled.Prompt, ...]) -> None:
    counts = Counter(prompt.kind for prompt in prompts)
    assert counts.keys() == LEAST_PROMPTS.keys()
    assert {kind: counts[kind] for kind in LEAST_PROMPTS if counts[kind] < LEAST_PROMPTS[kind]} == {}


def test_no_prompt_is_like_another_or_like_a_query(corpus: Corpus, prompts: tuple[labelled.Prompt, ...]) -> None:
    texts = [question.text for question in corpus.questions] + [prompt.text for prompt in prompts]
    counts = Counter(text.strip().casefold() for text in texts)
    assert [text for text, count in counts.items() if count > 1] == []


def test_every_prompt_is_typed_in_a_project_that_has_memories(
    corpus: Corpus, prompts: tuple[labelled.Prompt, ...]
) -> None:
    known = {memory.project for memory in corpus.memories} - {GENERAL}
    assert {prompt.project for prompt in prompts} == known


def test_a_prompt_wants_memories_if_its_kind_says_so(prompts: tuple[labelled.Prompt, ...]) -> None:
    assert [prompt.text for prompt in prompts if prompt.kind in WANTING and not prompt.wanted] == []
    assert [prompt.text for prompt in prompts if prompt.kind in SILENT and prompt.wanted] == []


@pytest.mark.parametrize("kind", EITHER)
def test_some_prompts_of_a_kind_want_nothing_and_others_something(
    kind: str, prompts: tuple[labelled.Prompt, ...]
) -> None:
    wanting = [bool(prompt.wanted) for prompt in prompts if prompt.kind == kind]
    something, nothing = EITHER[kind]
    assert wanting.count(True) >= something
    assert wanting.count(False) >= nothing


def test_no_prompt_wants_a_memory_it_must_not_get(prompts: tuple[labelled.Prompt, ...]) -> None:
    assert [prompt.text for prompt in prompts if prompt.wanted & prompt.never] == []


def test_a_stale_prompt_wants_the_last_successor_and_none_before_it(
    prompts: tuple[labelled.Prompt, ...], memories: dict[str, Memory]
) -> None:
    stale = [prompt for prompt in prompts if prompt.kind == "stale"]
    assert {key for prompt in stale for key in prompt.never} == {
        key for key, memory in memories.items() if memory.superseded_by
    }
    for prompt in stale:
        (wanted,) = prompt.wanted
        assert prompt.never == predecessors(wanted, memories)


def test_a_wrong_project_prompt_names_the_memories_of_another_project(
    prompts: tuple[labelled.Prompt, ...], memories: dict[str, Memory]
) -> None:
    for prompt in prompts:
        if prompt.kind == "wrong-project":
            assert prompt.never
            assert {memories[key].project for key in prompt.never}.isdisjoint({prompt.project, GENERAL}), prompt.text


def test_just_follow_ups_have_two_or_three_turns_before_them(prompts: tuple[labelled.Prompt, ...]) -> None:
    for prompt in prompts:
        assert len(prompt.before) in ((2, 3) if prompt.kind == "follow-up" else (0,)), prompt.text
        assert all(turn.startswith(("user: ", "assistant: ")) for turn in prompt.before)


def test_tasks_are_not_questions(prompts: tuple[labelled.Prompt, ...]) -> None:
    assert [prompt.text for prompt in prompts if prompt.kind == "task" and "?" in prompt.text] == []


def test_some_off_topic_prompts_are_questions(prompts: tuple[labelled.Prompt, ...]) -> None:
    asked = ["?" in prompt.text for prompt in prompts if prompt.kind == "off-topic"]
    assert 1 / 5 <= sum(asked) / len(asked) <= 1 / 2


def test_off_topic_prompts_are_of_every_length(prompts: tuple[labelled.Prompt, ...]) -> None:
    lengths = [len(prompt.text.split()) for prompt in prompts if prompt.kind == "off-topic"]
    short, middle = sum(length < 8 for length in lengths), sum(8 <= length <= 30 for length in lengths)
    assert min(short, middle, len(lengths) - short - middle) / len(lengths) >= 1 / 4


def test_a_cjk_prompt_is_in_such_a_language(prompts: tuple[labelled.Prompt, ...]) -> None:
    assert {language(prompt.text) for prompt in prompts if prompt.kind == "cjk"} == {"zh", "ja", "ko"}


def test_a_near_miss_shares_two_words_with_a_memory_that_could_come(
    prompts: tuple[labelled.Prompt, ...], corpus: Corpus
) -> None:
    for prompt in prompts:
        if prompt.kind == "near-miss":
            asked = content_words(prompt.text)
            near = [memory for memory in corpus.memories if memory.project in (prompt.project, GENERAL)]
            assert max(len(asked & content_words(everything(memory))) for memory in near) >= 2, prompt.text


def test_memem_reads_every_memory_as_it_was_written(corpus: Corpus, tmp_path: Path) -> None:
    ws = vault(tmp_path, corpus.memories)
    found = {entry.id: entry.memory for entry in find.list_memories(ws, limit=1_000)}
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

[[prompts.follow-up]]
text = "and the other one?"
project = "zoo"
wanted = ["walrus"]
before = ["user: feed the seal", "assistant: Done."]
"""
CHAIN = "".join(
    f'[[memory]]\nkey = "{key}"\nproject = "zoo"\nkind = "fact"\ntitle = "Fish"\ntext = "{key}"\n{successor}\n'
    for key, successor in (("cod", 'superseded_by = "hake"'), ("hake", 'superseded_by = "plaice"'), ("plaice", ""))
)


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


def test_a_chain_of_three_is_linked_in_both_directions(tmp_path: Path) -> None:
    cod, hake, plaice = labelled.load(written(tmp_path, f"{CHAIN}[queries]")).memories
    assert (cod.supersedes, cod.superseded_by) == ("", f"[[fish-{hake.id8}]]")
    assert (hake.supersedes, hake.superseded_by) == (f"[[fish-{cod.id8}]]", f"[[fish-{plaice.id8}]]")
    assert (plaice.supersedes, plaice.superseded_by) == (f"[[fish-{hake.id8}]]", "")


def test_a_prompt_is_read_with_its_kind_and_the_turns_before(tmp_path: Path) -> None:
    assert labelled.prompts(written(tmp_path, MADE_UP)) == (
        labelled.Prompt(
            "and the other one?",
            "follow-up",
            "zoo",
            wanted=frozenset({"walrus"}),
            before=("user: feed the seal", "assistant: Done."),
        ),
    )


@pytest.mark.parametrize("field", ["wanted", "never"])
def test_a_prompt_that_names_no_memory_is_refused(field: str, tmp_path: Path) -> None:
    text = MADE_UP.replace('wanted = ["walrus"]\nbefore', f'{field} = ["seal"]\nbefore')
    with pytest.raises(ValueError, match="no memory has the key 'seal'"):
        labelled.prompts(written(tmp_path, text))


def test_a_prompt_that_wants_a_memory_of_another_project_is_refused(tmp_path: Path) -> None:
    text = MADE_UP.replace('project = "zoo"\nwanted', 'project = "circus"\nwanted')
    with pytest.raises(ValueError, match="typed in circus and wants 'walrus' of another project"):
        labelled.prompts(written(tmp_path, text))


def test_a_prompt_that_wants_a_superseded_memory_is_refused(tmp_path: Path) -> None:
    text = f'{CHAIN}[[prompts.task]]\ntext = "buy fish"\nproject = "zoo"\nwanted = ["hake"]\n'
    with pytest.raises(ValueError, match="wants 'hake', which was superseded"):
        labelled.prompts(written(tmp_path, text))


def test_a_key_used_twice_is_refused(tmp_path: Path) -> None:
    memory, queried = MADE_UP.split("[queries]")
    with pytest.raises(ValueError, match="two memories have the key 'walrus'"):
        labelled.load(written(tmp_path, f"{memory}{memory}[queries]{queried}"))


def predecessors(key: str, memories: dict[str, Memory]) -> set[str]:
    """The keys of what a memory replaced, directly or through others."""
    before = [old for old, memory in memories.items() if memory.superseded_by.endswith(f"-{memories[key].id8}]]")]
    return set(before).union(*(predecessors(old, memories) for old in before))


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
