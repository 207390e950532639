"""Prompts become cases: what a slice could choose from, and what of it would be right."""

import gzip
import json
from functools import partial
from pathlib import Path

import pytest

from bench import corpora, labelled, prompts
from bench.prompts import ABSTENTION, OFF_TOPIC, Case
from memem.core.memory import Hit

DIALOGUE = {
    "sessions": [
        {"sessionId": "S1", "messages": [{"role": "user", "content": "The walrus service listens on port 7411."}]},
        {"sessionId": "S2", "messages": [{"role": "user", "content": "Deploys of the otter happen on Mondays."}]},
    ],
    "questions": [
        {"question": "Which port does the walrus service listen on?", "haystackSessionIds": ["S1"]},
        {"question": "When are deploys of the otter?", "haystackSessionIds": ["S2"], "questionType": "fact"},
        {"question": "Which colour has the walrus?", "haystackSessionIds": []},
    ],
}
OWN = """
[[memory]]
key = "old"
project = "zoo"
kind = "fact"
title = "Meals at noon"
text = "The walrus is fed with herring by its keeper at noon."
superseded_by = "new"

[[memory]]
key = "new"
project = "zoo"
kind = "fact"
title = "Meals at dusk"
text = "The walrus is fed with herring by its keeper at dusk."

[[memory]]
key = "elsewhere"
project = "shop"
kind = "fact"
title = "Herring"
text = "The walrus is fed with herring by its keeper, and pays for it."

[[queries.keyword]]
text = "walrus"
wanted = ["new"]

[[prompts.stale]]
text = "is the walrus fed with herring by its keeper at noon?"
project = "zoo"
wanted = ["new"]
never = ["old"]

[[prompts.trivial]]
text = "ok thanks"
project = "zoo"

[[prompts.follow-up]]
text = "and why is that?"
project = "zoo"
wanted = ["new"]
before = ["user: when is the walrus fed with herring?", "assistant: The keeper feeds the walrus at dusk."]

[[prompts.off-topic]]
text = "rename the zeppelin"
project = "zoo"
"""


def compressed(path: Path, lines: list[dict[str, object]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


@pytest.fixture
def devmem(tmp_path: Path) -> list[Case]:
    compressed(tmp_path / "devmem-dev.jsonl.gz", [DIALOGUE])
    compressed(tmp_path / "prompts-dev.jsonl.gz", [{"prompt": "ok thanks"}, {"prompt": "rename the walrus button"}])
    return prompts.devmem(tmp_path, tmp_path / "cases")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Case]:
    (tmp_path / "own.toml").write_text(OWN)
    monkeypatch.setattr(labelled, "load", partial(labelled.load, tmp_path / "own.toml"))
    monkeypatch.setattr(labelled, "prompts", partial(labelled.prompts, tmp_path / "own.toml"))
    return {case.kind: case for case in prompts.own(tmp_path / "cases")}


def bodies(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.body for hit in hits]


def test_questions_with_an_answer_want_the_memories_of_its_sessions(devmem: list[Case]) -> None:
    walrus, otter, *_ = devmem
    assert (walrus.kind, otter.kind, walrus.wanted) == ("", "fact", True)
    assert walrus.right == {walrus.hits[0].id}
    assert "walrus service" in walrus.hits[0].body
    assert all(hit.helps is not None for hit in walrus.hits)


def test_questions_without_one_and_prompts_about_something_else_want_nothing(devmem: list[Case]) -> None:
    *_, unanswered, nod, other = devmem
    assert [case.kind for case in (unanswered, nod, other)] == [ABSTENTION, OFF_TOPIC, OFF_TOPIC]
    assert not any(case.wanted or case.right for case in (unanswered, nod, other))
    assert (bool(unanswered.hits), nod.hits, bool(other.hits)) == (True, (), True)


def test_all_are_asked_in_one_project_and_in_order(devmem: list[Case]) -> None:
    assert {hit.project for case in devmem for hit in case.hits} == {corpora.PROJECT}
    assert [case.text.split()[-1] for case in devmem] == ["on?", "otter?", "walrus?", "thanks", "button"]


def test_a_case_gives_confidence_the_features_of_its_prompt(devmem: list[Case]) -> None:
    assert [case.prompt.question for case in devmem] == [True, True, True, False, False]
    assert devmem[0].prompt.unknown < devmem[-1].prompt.unknown


def test_a_superseded_labelled_memory_counts_as_its_successor(own: dict[str, Case]) -> None:
    stale = own["stale"]
    assert [hit.title for hit in stale.hits] == ["Meals at dusk"]
    assert stale.right == {stale.hits[0].id}
    assert len(stale.never) == 1
    assert stale.never.isdisjoint(stale.right)


def test_a_memory_of_another_project_is_not_a_candidate(own: dict[str, Case]) -> None:
    assert not any("pays for it" in body for case in own.values() for body in bodies(case.hits))


def test_a_nod_has_no_choice(own: dict[str, Case]) -> None:
    assert own["trivial"].hits == ()
    assert not own["trivial"].wanted


def test_a_follow_up_is_searched_with_the_turn_before_it(own: dict[str, Case]) -> None:
    assert own["follow-up"].text == "and why is that?"
    assert own["follow-up"].right == {hit.id for hit in own["follow-up"].hits}


def test_without_a_model_words_answer_alone_and_say_so(
    tmp_path: Path, devmem: list[Case], capsys: pytest.CaptureFixture[str]
) -> None:
    again = prompts.devmem(tmp_path, tmp_path / "cases")
    assert capsys.readouterr().out.startswith("By words alone, there is no model:")
    assert again == devmem
    assert {hit.source for case in again for hit in case.hits} == {"keyword"}
