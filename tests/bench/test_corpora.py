"""The evaluation files become memories and questions, shown on files small enough to read."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from bench import corpora
from bench.corpora import Corpus, Question
from memem.core.errors import InputError
from memem.core.memory import Memory
from memem.search import find

DEVMEM = {
    "sessions": [
        {
            "sessionId": "S1",
            "messages": [
                {"role": "user", "content": "The walrus service listens on port 7411."},
                {"role": "assistant", "content": "Noted: walrus, port 7411."},
            ],
        },
        {"sessionId": "S2", "messages": [{"role": "user", "content": "Deploys of the otter happen on Mondays."}]},
    ],
    "questions": [
        {
            "questionId": "Q1",
            "questionType": "tech",
            "question": "Which port has walrus?",
            "haystackSessionIds": ["S1"],
        },
        {"questionId": "Q2", "questionType": "abstention", "question": "Giraffe?", "haystackSessionIds": []},
    ],
}


def question_line(key: str, wanted: str, *sessions: dict[str, Any]) -> dict[str, Any]:
    return {
        "question_id": key,
        "question_type": "multi-session",
        "question": "What did I buy?",
        "answer_session_ids": [wanted],
        "sessions": list(sessions),
    }


BOUGHT = {
    "id": "s-bought",
    "turns": [{"role": "user", "content": "I bought a kite."}, {"role": "assistant", "content": "Lovely!"}],
}
SOLD = {
    "id": "s-sold",
    "turns": [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "I sold it."}],
}
LONGMEMEVAL = [question_line("ab12", "s-bought", BOUGHT, SOLD, BOUGHT), question_line("CD34_abs", "s-sold", SOLD)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write(tmp_path / "devmem-dev.jsonl.gz", [DEVMEM])
    write(tmp_path / "longmemeval-dev.jsonl.gz", LONGMEMEVAL)
    return tmp_path


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def session_line(*texts: str) -> dict[str, Any]:
    return {"id": "s-said", "turns": [{"role": "user", "content": text} for text in texts]}


def test_a_file_is_found_whatever_part_of_its_set_it_holds(tmp_path: Path) -> None:
    write(tmp_path / "devmem-held-back.jsonl.gz", [DEVMEM])
    assert corpora.file(tmp_path, corpora.DEVMEM).name == "devmem-held-back.jsonl.gz"


def test_a_folder_without_a_file_of_the_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"{tmp_path} holds no file prompts-\*\.jsonl\.gz: give the folder"):
        corpora.file(tmp_path, corpora.PROMPTS)


def test_of_several_files_of_a_set_none_is_chosen(data: Path) -> None:
    write(data / "devmem-other.jsonl.gz", [DEVMEM])
    with pytest.raises(
        InputError, match=r"several files .*: devmem-dev\.jsonl\.gz, devmem-other\.jsonl\.gz\. Leave one"
    ):
        corpora.devmem(data)


def test_prompts_are_loaded_as_typed(tmp_path: Path) -> None:
    write(tmp_path / "prompts-dev.jsonl.gz", [{"prompt": "fix the build"}, {"prompt": "ok thanks"}])
    assert corpora.prompts(tmp_path) == ["fix the build", "ok thanks"]


def crowd(data: Path, *texts: str) -> None:
    write(data / "longmemeval-dev.jsonl.gz", [question_line("ab12", "s-said", session_line(*texts), BOUGHT)])


def test_a_crowded_vault_contains_devmem_and_unrelated_notes(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "LEAST_CROWD", 2)
    short, long, just = "too short to say any"[:19], "x" * 1_501, "exactly twenty chars"
    crowd(data, just, short, "My walrus moved to Ghent.", long, just)
    corpus = corpora.crowded(data)
    assert corpus.name == "crowded"
    assert [memory.body for memory in corpus.memories[3:]] == [just, "My walrus moved to Ghent."]
    assert {memory.project for memory in corpus.memories} == {corpora.PROJECT}
    assert corpus.questions == corpora.devmem(data).questions


def test_an_unrelated_note_counts_as_its_own_source(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "LEAST_CROWD", 2)
    crowd(data, "My walrus moved to Ghent.", "My walrus moved to Bruges.")
    corpus = corpora.crowded(data)
    walrus, _, otter, *others = [memory.id for memory in corpus.memories]
    assert corpus.ranking([*others, otter, walrus]) == [*others, "S2", "S1"]


def test_no_more_than_enough_crowd_a_vault(data: Path) -> None:
    crowd(data, *(f"This is unrelated note number {number}." for number in range(corpora.MOST_CROWD + 5)))
    assert len(corpora.crowded(data).memories) == 3 + corpora.MOST_CROWD


def test_too_few_notes_make_no_crowd(data: Path) -> None:
    crowd(data, "My walrus moved to Ghent.")
    with pytest.raises(InputError, match=r"needs 5,000 unrelated notes; longmemeval has 1\."):
        corpora.crowded(data)


def test_every_message_of_devmem_is_a_memory_of_its_session(data: Path) -> None:
    corpus = corpora.devmem(data)
    assert [(corpus.source_of[memory.id], memory.body[:6]) for memory in corpus.memories] == [
        ("S1", "The wa"),
        ("S1", "Noted:"),
        ("S2", "Deploy"),
    ]


def test_questions_of_devmem_that_nothing_answers_are_left_out(data: Path) -> None:
    assert corpora.devmem(data).questions == (Question("Q1", "Which port has walrus?", "tech", frozenset({"S1"})),)


def test_devmem_asks_for_more_memories_than_it_judges_sessions(data: Path) -> None:
    assert corpora.devmem(data).depth > corpora.DEPTH


def test_a_session_of_longmemeval_is_one_memory_with_all_turns(data: Path) -> None:
    bought = corpora.longmemeval(data).memories[0]
    assert bought.body == "user: I bought a kite.\n\nassistant: Lovely!"


def test_a_longmemeval_session_is_titled_by_its_first_user_message(data: Path) -> None:
    assert corpora.longmemeval(data).memories[1].title == "I sold it."


def test_every_question_of_longmemeval_has_a_project_with_its_own_sessions(data: Path) -> None:
    corpus = corpora.longmemeval(data)
    projects = [
        [corpus.source_of[memory.id] for memory in corpus.memories if memory.project == question.project]
        for question in corpus.questions
    ]
    assert projects == [["s-bought", "s-sold"], ["s-sold"]]


def test_a_question_of_longmemeval_wants_the_sessions_that_answer_it(data: Path) -> None:
    question = corpora.longmemeval(data).questions[0]
    assert (question.key, question.kind, question.wanted) == ("ab12", "multi-session", frozenset({"s-bought"}))


def test_a_question_of_longmemeval_finds_only_its_own_sessions(data: Path, tmp_path: Path) -> None:
    corpus = corpora.longmemeval(data)
    ws = corpora.vault(tmp_path / "vault", corpus.memories)
    found = [
        corpus.ranking(hit.id for hit in find.search(ws, "kite sold", project=question.project))
        for question in corpus.questions
    ]
    ws.close()
    assert [sorted(each) for each in found] == [["s-bought", "s-sold"], ["s-sold"]]


def test_a_source_is_ranked_by_its_best_memory() -> None:
    corpus = Corpus("made-up", (), {"1": "S1", "2": "S2", "3": "S1", "4": "S3"}, ())
    assert corpus.ranking(["2", "1", "3", "2", "4"]) == ["S2", "S1", "S3"]


def many(count: int, *, projects: bool) -> Corpus:
    memories = tuple(Memory(f"memory-{number}", "t", "b", project=f"p{number}") for number in range(count))
    questions = tuple(
        Question(str(number), "?", "kind", frozenset(), f"p{number}" if projects else None) for number in range(count)
    )
    return Corpus("many", memories, {}, questions)


def test_a_sample_is_always_the_same_for_a_seed() -> None:
    corpus = many(50, projects=False)
    assert corpus.sample(5, seed=1) == corpus.sample(5, seed=1)
    assert corpus.sample(5, seed=1) != corpus.sample(5, seed=2)


def test_a_sample_keeps_the_order_of_the_questions() -> None:
    keys = [int(question.key) for question in many(50, projects=False).sample(20, seed=1).questions]
    assert len(keys) == 20
    assert keys == sorted(keys)


def test_a_sample_keeps_all_memories_that_are_asked_everywhere() -> None:
    assert len(many(50, projects=False).sample(5, seed=1).memories) == 50


def test_a_sample_keeps_just_the_projects_that_are_asked() -> None:
    sample = many(50, projects=True).sample(5, seed=1)
    assert [memory.project for memory in sample.memories] == [question.project for question in sample.questions]


def test_a_sample_is_not_complete_unless_it_holds_every_question() -> None:
    corpus = many(5, projects=False)
    assert not corpus.sample(4, seed=1).complete
    assert corpus.sample(5, seed=1).complete


WALRUS = Memory(corpora.identity("walrus"), "Walrus", "The walrus eats at noon.")
OTTER = Memory(corpora.identity("otter"), "Otter", "The otter eats at dusk.")


def test_a_cached_vault_contains_only_the_memories_of_its_last_run(tmp_path: Path) -> None:
    corpora.vault(tmp_path, [WALRUS]).close()
    ws = corpora.vault(tmp_path, [OTTER])
    assert [entry.id for entry in find.list_memories(ws)] == [OTTER.id]
    ws.close()


def test_a_note_that_is_already_there_is_not_written_again(tmp_path: Path) -> None:
    first = corpora.vault(tmp_path, [WALRUS])
    (path,) = first.store.paths.memories.glob("*.md")
    first.close()
    before = path.stat()
    corpora.vault(tmp_path, [WALRUS, OTTER]).close()
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_a_note_that_reads_otherwise_is_written_again(tmp_path: Path) -> None:
    first = corpora.vault(tmp_path, [WALRUS])
    (path,) = first.store.paths.memories.glob("*.md")
    first.close()
    before = path.read_bytes()
    path.write_bytes(before.replace(b"noon", b"dawn"))
    corpora.vault(tmp_path, [WALRUS]).close()
    assert path.read_bytes() == before
