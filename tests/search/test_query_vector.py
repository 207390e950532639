"""A query's vector is computed beside other work, and waited for no longer than agreed, counted from the question."""

import threading
from types import SimpleNamespace

import pytest

from memem.core.errors import ModelError, WeightsMissing
from memem.search.encoders.interface import Encoder
from memem.search.encoders.query_vector import EncodedQuery
from tests.fakes import FakeEncoder

LONG = 60.0


def test_the_answer_is_the_encoder_and_the_vector_of_the_text(encoder: FakeEncoder) -> None:
    query = EncodedQuery("about walruses", lambda: encoder)
    answer = query.wait(LONG)
    assert answer is not None
    assert answer[0] is encoder
    assert answer[1].tolist() == encoder.vector("about walruses").tolist()
    assert query.wait(0) is answer, "it stays"


def test_the_caller_continues_while_the_model_loads() -> None:
    loaded, here = threading.Event(), threading.current_thread()
    threads: list[threading.Thread] = []

    def load() -> Encoder:
        threads.append(threading.current_thread())
        loaded.wait()
        return FakeEncoder()

    query = EncodedQuery("text", load)
    assert query.wait(0) is None
    loaded.set()
    assert query.wait(LONG) is not None
    assert threads[0] is not here
    assert threads[0].daemon, "a process that ends does not wait for it"


def test_an_answer_that_is_late_is_none_and_there_the_next_time(encoder: FakeEncoder) -> None:
    encoder.gate.clear()
    query = EncodedQuery("text", lambda: encoder)
    assert query.wait(0) is None
    encoder.gate.set()
    assert query.wait(LONG) is not None


def test_a_model_that_cannot_be_loaded_raises_in_wait() -> None:
    def load() -> Encoder:
        raise WeightsMissing("nowhere")

    query = EncodedQuery("text", load)
    for _ in range(2):
        with pytest.raises(WeightsMissing, match="nowhere"):
            query.wait(LONG)


def test_a_failing_model_raises_in_wait(encoder: FakeEncoder) -> None:
    encoder.trouble = ModelError("out of order")
    with pytest.raises(ModelError, match="out of order"):
        EncodedQuery("text", lambda: encoder).wait(LONG)


def test_the_time_counts_from_the_question(encoder: FakeEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    waits: list[float | None] = []
    monkeypatch.setattr("memem.search.encoders.query_vector.time", SimpleNamespace(monotonic=lambda: now[0]))
    encoder.gate.clear()
    query = EncodedQuery("text", lambda: encoder)

    def join(timeout: float | None = None) -> None:
        waits.append(timeout)

    monkeypatch.setattr(query._thread, "join", join)
    for passed in (0.0, 3.0, 8.0):
        now[0] = 100 + passed
        assert query.wait(5) is None
    assert waits == [5, 2, 0]
