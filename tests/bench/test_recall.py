"""The report of `python -m bench recall`, with a searcher that finds what the test says."""

import gzip
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bench import labelled, recall
from bench.corpora import Corpus, Question, identity
from bench.options import DATA_VARIABLE
from bench.scores import (
    COSINE,
    FUSED,
    KEYWORD,
    MODES,
    Claim,
    Scores,
    all_promises_hold,
    claims,
    score,
    shown,
    shown_claims,
)
from memem.core.errors import ModelError
from memem.core.memory import Hit, Memory
from memem.search import find, ranking
from memem.search.encoders import model
from memem.workspace import Workspace

KEYS = ("walrus", "otter", "seal")
MEMORIES = tuple(Memory(identity(key), key.title(), f"The {key} eats at noon.") for key in KEYS)
QUESTIONS = (
    Question("q1", "walrus", "literal", frozenset({"walrus"})),
    Question("q2", "otter", "literal", frozenset({"otter"})),
    Question("q3", "seal", "cjk", frozenset({"seal"})),
    Question("q4", "who eats like a walrus or an otter", "multi", frozenset({"walrus", "otter"})),
)
CORPUS = Corpus("zoo", MEMORIES, {identity(key): key for key in KEYS}, QUESTIONS)
PLACES = {KEYWORD: 2, COSINE: 3, FUSED: 1}
"""Where each mode ranks the first wanted memory."""


def ranked_at(places: Mapping[str, int], corpus: Corpus = CORPUS) -> Callable[[str, Question], list[str]]:
    """A searcher that puts what is wanted at a mode's place, behind what is not."""
    ids = {source: each for each, source in corpus.source_of.items()}

    def find(mode: str, question: Question) -> list[str]:
        others = [each for source, each in ids.items() if source not in question.wanted]
        wanted = [ids[source] for source in sorted(question.wanted)]
        before = places[mode] - 1
        return [*others[:before], *wanted, *others[before:]][: corpus.depth]

    return find


def scored(places: Mapping[str, int] = PLACES, modes: tuple[str, ...] = MODES, corpus: Corpus = CORPUS) -> Scores:
    return score(corpus, modes, ranked_at(places, corpus), seed=1)


def fake(places: Mapping[str, int] = PLACES, modes: tuple[str, ...] = MODES) -> recall.Measure:
    return lambda corpus, _folder, seed: score(corpus, modes, ranked_at(places, corpus), seed)


def reported(arguments: list[str], measure: recall.Measure, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(recall, "measure", measure)
    return recall.run(arguments)


def test_every_question_is_scored_in_every_mode() -> None:
    values = scored().values
    assert values[FUSED]["any@1"] == (1.0, 1.0, 1.0, 1.0)
    assert values[KEYWORD]["MRR"] == (0.5, 0.5, 0.5, 0.5)
    assert values[COSINE]["any@5"] == (1.0, 1.0, 1.0, 1.0)


def test_averages_of_a_kind_are_over_its_own_questions() -> None:
    half = Scores("zoo", QUESTIONS, {KEYWORD: {"any@5": (1.0, 0.0, 1.0, 1.0)}}, seed=1)
    assert [half.average(KEYWORD, "any@5", kind) for kind in ("literal", "cjk", "multi")] == [0.5, 1.0, 1.0]


def test_the_report_says_how_many_questions_and_shows_every_metric_and_kind() -> None:
    text = shown(scored())
    assert text.startswith("zoo: 4 questions\n")
    first_words = [line.split("  ")[0] for line in text.splitlines()]
    wanted = ["any@1", "any@5", "any@10", "all@5", "all@10", "MRR", "nDCG@10", "literal", "cjk", "multi"]
    assert [word for word in wanted if word not in first_words] == []


def test_the_report_shows_averages_with_their_intervals() -> None:
    (row,) = [line for line in shown(scored()).splitlines() if line.startswith("MRR")]
    assert row.split("  ", 1)[1].split() == "0.500 [0.500, 0.500] 0.375 [0.333, 0.458] 1.000 [1.000, 1.000]".split()


def test_the_report_shows_shares_of_questions_as_counts_too() -> None:
    (row,) = [line for line in shown(scored()).splitlines() if line.startswith("any@1 ")]
    assert (
        row.split("  ", 1)[1].split()
        == "0: 0.000 [0.000, 0.000] 0: 0.000 [0.000, 0.000] 4: 1.000 [1.000, 1.000]".split()
    )


def test_the_report_shows_recall_against_how_far_one_looks() -> None:
    rows = {line.split("  ")[0]: line.split()[2:] for line in shown(scored()).splitlines() if "@k " in line}
    assert list(rows) == [f"{what}@k {mode}" for what in ("any", "all") for mode in MODES]
    assert rows["any@k keyword"] == ["0.000", *["1.000"] * 9]
    assert rows["all@k fused"] == ["0.750", *["1.000"] * 9]


def test_the_report_shows_how_often_fused_is_better() -> None:
    (row,) = [line for line in shown(scored()).splitlines() if line.startswith("fused - keyword")]
    assert row.split()[-3:] == ["4", "0", "0"]
    assert row.split()[3].startswith("+0.3")


def test_a_sample_is_called_one() -> None:
    assert shown(scored(corpus=CORPUS.sample(2, seed=1))).startswith("zoo: 2 questions, a sample\n")


def test_without_a_model_the_report_has_keywords_only() -> None:
    text = shown(scored(modes=(KEYWORD,)))
    assert FUSED not in text
    assert COSINE not in text


def test_fused_is_promised_to_beat_the_others_and_the_sure_kinds_to_be_found() -> None:
    assert [(claim.what, claim.holds) for claim in claims(scored())] == [
        ("zoo: fused beats keyword on nDCG@10", True),
        ("zoo: fused beats cosine on nDCG@10", True),
        ("zoo: literal queries, any@5", True),
        ("zoo: CJK queries, any@5", True),
    ]


def test_being_equal_is_not_beating() -> None:
    equal = claims(scored({KEYWORD: 1, COSINE: 2, FUSED: 1}))
    assert [claim.holds for claim in equal[:2]] == [False, True]


def test_one_sure_query_that_is_not_found_breaks_the_promise_of_its_kind() -> None:
    def find(mode: str, question: Question) -> list[str]:
        return [] if question.key == "q2" else ranked_at(PLACES)(mode, question)

    broken = [claim for claim in claims(score(CORPUS, MODES, find, seed=1)) if not claim.holds]
    assert [(claim.what, claim.value) for claim in broken] == [("zoo: literal queries, any@5", 0.5)]


def claims_for(hits: Mapping[str, int], name: str, questions: int, kind: str = "multi") -> list[Claim]:
    """The promises of a set in which each mode answers so many of the questions, at the first place."""
    asked = tuple(Question(f"q{number}", "walrus", kind, frozenset({"walrus"})) for number in range(questions))
    corpus = Corpus(name, MEMORIES, CORPUS.source_of, asked)
    walrus = identity("walrus")

    def find(mode: str, question: Question) -> list[str]:
        return [walrus] if asked.index(question) < hits[mode] else []

    return claims(score(corpus, MODES, find, seed=1))


def claim_row(claim: Claim) -> tuple[str, str, str, bool]:
    return (claim.what, claim.measured, claim.wanted, claim.holds)


@pytest.mark.parametrize(("found", "holds"), [(41, False), (42, True)])
def test_paraphrases_are_found_no_less_than_by_meaning_alone(found: int, holds: bool) -> None:
    promised = claims_for({KEYWORD: 8, COSINE: 42, FUSED: found}, "zoo", 52, kind="paraphrase")
    what = "zoo: paraphrase queries, any@5, no worse than cosine"
    assert claim_row(promised[-1]) == (what, f"{found / 52:.3f} ({found} of 52)", ">= 42 of 52", holds)


@pytest.mark.parametrize(("found", "holds"), [(94, False), (95, True)])
def test_nearly_every_question_finds_its_answer_in_a_crowd(found: int, holds: bool) -> None:
    promised = claims_for({KEYWORD: 80, COSINE: 90, FUSED: found}, "crowded", 97)
    assert claim_row(promised[-1]) == ("crowded: any@5", f"{found / 97:.3f} ({found} of 97)", ">= 95 of 97", holds)


def test_another_number_of_questions_has_to_find_the_same_share_in_a_crowd() -> None:
    promised = claims_for({KEYWORD: 80, COSINE: 90, FUSED: 190}, "crowded", 194)
    assert (promised[-1].wanted, promised[-1].holds) == (">= 190 of 194", True)


def test_longmemeval_finds_something_no_less_than_keywords_do() -> None:
    worse, *_ = claims_for({KEYWORD: 60, COSINE: 50, FUSED: 59}, "longmemeval", 68)[2:]
    assert claim_row(worse) == ("longmemeval: any@5, no worse than keyword", "0.868 (59 of 68)", ">= 60 of 68", False)


@pytest.mark.parametrize(("found", "holds"), [(58, False), (59, True)])
def test_longmemeval_finds_all_for_four_questions_more_than_keywords(found: int, holds: bool) -> None:
    promised = claims_for({KEYWORD: 55, COSINE: 50, FUSED: found}, "longmemeval", 68)
    what = "longmemeval: all@5, at least 4 questions more than keyword"
    measured = f"{found / 68:.3f} ({found} of 68)"
    assert claim_row(promised[-1]) == (what, measured, ">= 59 of 68", holds)


def test_of_more_questions_longmemeval_finds_all_for_the_same_share_more() -> None:
    promised = claims_for({KEYWORD: 100, COSINE: 50, FUSED: 108}, "longmemeval", 136)
    what = "longmemeval: all@5, at least 8 questions more than keyword"
    assert (promised[-1].what, promised[-1].holds) == (what, True)


def test_a_set_without_sure_kinds_promises_only_to_beat_the_others() -> None:
    plain = Corpus("plain", MEMORIES, CORPUS.source_of, QUESTIONS[3:])
    assert len(claims(scored(corpus=plain))) == 2


def test_nothing_is_promised_of_keywords_alone() -> None:
    assert claims(scored(modes=(KEYWORD,))) == []


def test_a_broken_promise_counts_only_when_it_was_judged() -> None:
    broken, sampled = (Claim("zoo", -0.1, "> 0", holds=False, judged=judged) for judged in (True, False))
    assert not all_promises_hold([broken])
    assert all_promises_hold([sampled])


def test_the_table_of_promises_says_which_are_broken() -> None:
    rows = shown_claims(
        [
            Claim("one", 0.1, "> 0", holds=True, judged=True),
            Claim("two", -0.1, "> 0", holds=False, judged=True),
            Claim("three", -0.1, "> 0", holds=False, judged=False),
        ]
    ).splitlines()[2:]
    assert [row.split("> 0")[1].strip() for row in rows] == ["holds", "BROKEN", "judged on all questions only"]


def test_values_other_than_shares_are_whole_numbers() -> None:
    assert Claim("characters", 1_154.4, "< 1200", holds=True, judged=True).measured == "1,154"


def test_fulfilled_promises_exit_with_0(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert reported(["--sets", "labelled"], fake(), monkeypatch) == 0
    assert "holds" in capsys.readouterr().out


def test_a_broken_promise_exits_with_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert reported(["--sets", "labelled"], fake(PLACES | {FUSED: 9}), monkeypatch) == 1
    assert "BROKEN" in capsys.readouterr().out


def test_a_sample_breaks_no_promise(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--sets", "labelled", "--questions", "9"]
    assert reported(arguments, fake(PLACES | {FUSED: 9}), monkeypatch) == 0
    assert "labelled: 9 questions, a sample" in capsys.readouterr().out


def test_without_a_model_nothing_is_judged(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert reported(["--sets", "labelled"], fake(modes=(KEYWORD,)), monkeypatch) == 0
    assert "No promise was judged" in capsys.readouterr().out


def test_the_json_has_the_values_of_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "recall.json"
    reported(["--sets", "labelled", "--json", str(target)], fake(), monkeypatch)
    written = json.loads(target.read_text())
    (measured,) = written["sets"]
    assert (written["bench"], written["seed"], measured["set"], measured["complete"]) == ("recall", 1, "labelled", True)
    asked = measured["questions"]
    assert measured["memories"] == len(labelled.load().memories)
    assert measured["metrics"]["fused"]["any@1"] == {"value": 1.0, "low": 1.0, "high": 1.0, "count": asked}
    assert "count" not in measured["metrics"]["fused"]["MRR"]
    assert measured["curves"]["keyword"]["any"] == [0.0, *[1.0] * 9]
    assert measured["fused_minus"]["keyword"]["better"] == measured["questions"] == len(measured["answers"])
    assert measured["kinds"]["literal"]["keyword"] == {"nDCG@10": 0.63093, "any@5": 1.0}
    assert [promise["holds"] for promise in written["promises"]] == [True] * 5
    assert written["promises"][2]["counted"] == "{0} of {0}".format(measured["kinds"]["literal"]["questions"])


def test_without_data_only_the_labelled_set_runs_and_this_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reported([], fake(), monkeypatch)
    shown_lines = capsys.readouterr().out.splitlines()
    assert shown_lines[0].startswith("Only the labelled set")
    assert [line for line in shown_lines if line.endswith(" questions")] == [
        f"labelled: {len(labelled.load().questions)} questions"
    ]


def test_the_folder_with_data_may_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    dialogue = {
        "sessions": [{"sessionId": "S1", "messages": [{"role": "user", "content": "The walrus eats at noon."}]}],
        "questions": [{"question": "When does the walrus eat?", "haystackSessionIds": ["S1"]}],
    }
    with gzip.open(tmp_path / "devmem-part.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps(dialogue))
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    reported(["--sets", "devmem"], fake(), monkeypatch)
    assert "devmem: 1 questions" in capsys.readouterr().out


def test_each_public_set_has_its_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("devmem", "longmemeval"):
        (tmp_path / f"{name}-part.jsonl.gz").touch()
    named = {name: lambda _data, name=name: replace(CORPUS, name=name) for name in recall.FILES}
    monkeypatch.setattr(recall, "READERS", named)
    reported(["--data", str(tmp_path), "--sets", "crowded,longmemeval"], fake(), monkeypatch)
    shown_lines = capsys.readouterr().out.splitlines()
    assert [line for line in shown_lines if line.endswith(" questions")] == [
        "crowded: 4 questions",
        "longmemeval: 4 questions",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sets", "crowded"], "needs --data DIR with devmem-*.jsonl.gz and longmemeval-*.jsonl.gz in it"),
        (["--sets", "trivia"], "there is no set 'trivia'"),
        (["--data", os.curdir], "the set devmem cannot be measured: . holds no file devmem-*.jsonl.gz"),
        (["--questions", "0"], "at least one question"),
    ],
    ids=["no data", "no such set", "no such file", "no questions"],
)
def test_an_unmeasurable_request_is_wrong_usage(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        recall.run(arguments)
    assert stopped.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_cache_keeps_the_vault_of_each_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[Path] = []

    def measure(corpus: Corpus, folder: Path, seed: int) -> Scores:
        places.append(folder)
        return fake()(corpus, folder, seed)

    for arguments in ([], ["--questions", "9"]):
        reported(["--sets", "labelled", "--cache", str(tmp_path), *arguments], measure, monkeypatch)
    assert places == [tmp_path / "labelled", tmp_path / "labelled-9-1"]


def test_without_a_cache_nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[Path] = []

    def measure(corpus: Corpus, folder: Path, seed: int) -> Scores:
        folder.mkdir()
        places.append(folder)
        return fake()(corpus, folder, seed)

    reported(["--sets", "labelled"], measure, monkeypatch)
    assert not places[0].parent.exists()


def test_without_a_model_keywords_are_measured_on_a_real_vault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_model(_ws: Workspace, _progress: Callable[[int, int], None]) -> None:
        raise ModelError("There are no weights.")

    monkeypatch.setattr(model, "encode_all", no_model)
    measured = recall.measure(CORPUS, tmp_path / "new", seed=1)
    assert list(measured.values) == [KEYWORD]
    assert measured.values[KEYWORD]["any@1"] == (1.0, 1.0, 1.0, 1.0)
    assert "Keywords only, there is no model: There are no weights." in capsys.readouterr().out


def test_each_mode_searches_with_its_own_blend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str | None, int, ranking.Blend]] = []

    def search(_ws: Workspace, query: str, *, project: str | None, limit: int, blend: ranking.Blend) -> list[Hit]:
        asked.append((query, project, limit, blend))
        return []

    monkeypatch.setattr(model, "encode_all", lambda _ws, progress: progress(3, 3))
    monkeypatch.setattr(find, "search", search)
    scoped = Question("q", "walrus", "kind", frozenset({"walrus"}), "zoo")
    recall.measure(Corpus("zoo", MEMORIES, CORPUS.source_of, (scoped,), depth=7), tmp_path / "new", seed=1)
    assert asked == [("walrus", "zoo", 7, blend) for blend in (ranking.KEYWORDS, ranking.COSINE, ranking.FUSED)]
