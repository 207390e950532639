"""Every whole object in a transcript is found once, wherever reading begins; unfinished ones are left alone."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memem.transcript import objects as transcript_objects
from memem.transcript.objects import JsonObject, objects

USER = {"type": "user", "message": {"role": "user", "content": "Hello."}, "uuid": "u1"}
CLAUDE = {"type": "assistant", "message": {"content": [{"type": "text", "text": "Hi {\n}."}]}, "uuid": "a1"}
ONE, TWO = json.dumps(USER).encode(), json.dumps(CLAUDE).encode()
PRETTY = json.dumps(CLAUDE, indent=2).encode()


def parsed(data: bytes, start: int = 0) -> list[JsonObject]:
    return list(objects(io.BytesIO(data), start))


def values(data: bytes) -> list[dict[str, Any]]:
    return [each.value for each in parsed(data)]


# --- whole ones ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        ONE + b"\n" + TWO + b"\n",
        ONE + b"\n" + TWO,
        ONE + b"\r\n" + TWO + b"\r\n",
        ONE + TWO + b"\n",
        ONE + b"  " + TWO,
        b"\n \n" + ONE + b"\n\n\t\n" + TWO + b"\n\n",
        ONE + b"\n" + PRETTY + b"\n",
        ONE + b"\n" + PRETTY,
        ONE + PRETTY,
        json.dumps(USER, indent=0).encode() + b"\n" + json.dumps(CLAUDE, indent="\t").encode(),
        json.dumps(USER, indent=4).encode() + PRETTY + b"\n",
        b"\xef\xbb\xbf" + ONE + b"\n" + TWO + b"\n",
        b"\0" * 4096 + ONE + b"\n\0\0" + TWO + b"\0\n",
    ],
    ids="lines unended dos side-by-side spaced blank pretty unended-pretty one-behind indents pretties bom nul".split(),
)
def test_whole_objects_are_found_however_they_are_laid_out(data: bytes) -> None:
    assert values(data) == [USER, CLAUDE]


def test_an_object_is_found_with_its_bytes() -> None:
    data = "é ".encode() + ONE + b"\n \xff" + TWO + b'\n"\xe9"' + PRETTY + b" \n"
    assert [data[each.start : each.end] for each in parsed(data)] == [ONE, TWO, PRETTY]


@pytest.mark.parametrize(
    "between",
    [
        b"plain words\n",
        b"42\n",
        b'["not", {"type": "user"}]\n',
        b"null\n",
        b"{]\n",
        b"}\n",
        b"\xff\xfe\n",
        b'{"type":"user","mess\n',
        b'{"type":"user",\n',
        b'{"message":{"content":[\n',
        b'{"message":{"content":[{"type":"text"}\n',
        b'{"a":"\\"\n',
        b'{"type":"user","mess',
        b'{"type":"user","message":{"content":"x"},',
        b'{"type":"user","message":{"content":"x"}',
        b'{"type":"progress","data":{"type":"user","message":{"content":"of an agent"}},"uu',
        b'{"a":' * 5_000 + b"\n",
        b"[" * 5_000 + b"\n",
        PRETTY[:-20] + b"\n",
        PRETTY[:-20],
        PRETTY[:2] + b"\n",
    ],
)
def test_an_object_is_found_behind_what_is_none(between: bytes) -> None:
    data = ONE + b"\n" + between + TWO + b"\n" + PRETTY + b"\n" + ONE + b"\n"
    lines = [value for value in values(data) if value.get("type") != "text"]  # a block may be whole in what is torn
    assert lines == [USER, CLAUDE, CLAUDE, USER]


def test_objects_of_many_rows_are_found_behind_a_torn_row_that_could_have_had_them_in_it() -> None:
    assert values(b'{"message":{"content":[\n' + PRETTY + b"\n" + PRETTY + b"\n") == [CLAUDE, CLAUDE]


def test_a_block_of_a_message_does_not_end_the_object_that_it_is_in() -> None:
    data = b'{\n"type": "user",\n"message": {"content": [\n{"type": "text", "text": "x"}\n]}\n}\n'
    assert values(data) == [{"type": "user", "message": {"content": [{"type": "text", "text": "x"}]}}]


def test_huge_integer_is_accepted() -> None:
    assert values(b'{"type": "user", "n": ' + b"9" * 5_000 + b', "text": "x"}\n')[0]["text"] == "x"


@pytest.mark.parametrize("half", [b"\\ud800", b"\\uDFFF", b"\xff", b"\xed\xa0\x80"])
def test_lone_surrogate_is_replaced_anywhere(half: bytes) -> None:
    value = values(b'{"a": ["x' + half + b'y", {"' + half + b'": 1}], "b": "\\ud83d\\ude00 \xf0\x9f\x98\x80"}\n')[0]
    json.dumps(value, ensure_ascii=False).encode()
    assert value["a"][0].strip("xy").strip("\ufffd") == ""
    assert "\ufffd" in value["a"][0]
    assert value["b"] == "😀 😀"


def test_a_nul_in_a_text_becomes_a_space() -> None:
    assert values(b'{"a": "x\0y"}\n') == [{"a": "x y"}]


# --- unfinished ones ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", [TWO[:-1], TWO[:9], b"{", PRETTY[:-1], PRETTY[:20] + b"\n", b"tru", b'{"torn' + ONE])
def test_unfinished_object_is_left_for_later(tail: bytes) -> None:
    assert values(ONE + b"\n" + tail) == [USER]


def test_an_unfinished_object_is_found_once_it_is_finished() -> None:
    for data in (TWO, PRETTY):
        for cut in range(1, len(data)):
            (first,) = parsed(ONE + b"\n" + data[:cut])
            assert [each.value for each in parsed(ONE + b"\n" + data + b"\n", first.end)] == [CLAUDE]


# --- bounds -------------------------------------------------------------------------------------------------------


def test_a_line_that_is_too_long_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_objects, "MAX_LINE_BYTES", 200)
    long = json.dumps(USER | {"more": "x" * 200_000}).encode()
    data = ONE + b"\n" + long + b"\n" + TWO + b"\n"
    assert values(data) == [USER, CLAUDE]
    assert parsed(data)[1].end == len(data) - 1
    assert values(ONE + b"\n" + long) == [USER]


def test_a_line_that_is_too_long_is_not_left_out_of_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_objects, "MAX_LINE_BYTES", 200)
    data = b'{\n"type": "user",\n"text": "' + b"x" * 300 + b'",\n"uuid": "1"\n}\n'
    assert values(data + TWO + b"\n") == [CLAUDE]


@pytest.mark.parametrize("row", [b'{"a":[\n', b"{\n", b'{"a":{"b":1},\n', b'{"a":1,\n', b'{"a"\n', b'{"a":\n'])
def test_many_torn_rows_cost_no_more_than_their_number(row: bytes) -> None:
    data = row * 5_000 + TWO + b"\n"
    assert values(data)[-1] == CLAUDE


def test_many_objects_on_one_line_cost_no_more_than_their_number() -> None:
    assert len(parsed('{"é":1}'.encode() * 100_000)) == 100_000


def test_a_long_torn_row_full_of_brackets_costs_little() -> None:
    assert values(b'{"a":"' + b'{\\"b\\":[' * 200_000 + b"\n" + TWO + b"\n") == [CLAUDE]


def test_only_what_is_behind_the_offset_is_read() -> None:
    class Counted(io.BytesIO):
        count = 0

        def readinto(self, buffer: Any) -> int:
            size = super().readinto(buffer)
            self.count += size
            return size

    data = (ONE + b"\n") * 100_000
    raw = Counted(data)
    start = len(data) - 10 * (len(ONE) + 1)
    assert len(list(objects(io.BufferedReader(raw), start))) == 10
    assert raw.count == len(data) - start


# Behind a shell, because the peak of a process is not less than that of the one which started it.
_SHELL = ("sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c")
_READ_ALL = """
import resource, sys
from memem.transcript.objects import objects
with open(sys.argv[1], "rb") as file:
    print(sum(1 for _ in objects(file)), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_stays_flat_however_long_the_file_and_its_lines_are(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    line = json.dumps(USER | {"toolUseResult": "x" * 1_000_000}).encode() + b"\n"
    with path.open("wb") as file:
        for _ in range(10):
            file.write(line * 7)
            file.write(b'{"type": "user", "torn\n' + b'{"a": [\n' * 1_000)
        file.seek(100 * 1024 * 1024, io.SEEK_CUR)  # a hole: one line of NULs
        file.write(b"\n" + ONE + b"\n")
    answer = subprocess.run([*_SHELL, _READ_ALL, path], capture_output=True, text=True, check=True)
    count, peak = map(int, answer.stdout.split())
    assert count == 71
    assert peak * (1 if sys.platform == "darwin" else 1024) < 60_000_000


# --- any file -----------------------------------------------------------------------------------------------------

_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
_line = st.builds(
    lambda kind, more: {"type": kind, **more},
    st.sampled_from(("user", "assistant", "summary", "progress")),
    st.dictionaries(st.sampled_from(("message", "uuid", "data", "é")), _json, max_size=3),
)
_written = st.builds(
    lambda value, indent, ascii_: json.dumps(value, indent=indent, ensure_ascii=ascii_).encode("utf-8", "replace"),
    _line,
    st.sampled_from((None, None, 1, 2)),
    st.booleans(),
)
_torn = st.builds(lambda data, share: data[: int(len(data) * share)], _written, st.floats(0, 1, exclude_max=True))
_piece = st.one_of(
    _written,
    _written.map(lambda data: data + b"\n"),
    _torn,
    _torn.map(lambda data: data + b"\n"),
    st.sampled_from(
        (b"\n", b"{", b"}", b"[\n", b'"', b",", b"{\n", b"}\n", b"\0", b"\xff", b"\\", b'{"a":1}\n', b"12 ")
    ),
    st.binary(max_size=6),
)
_file = st.lists(_piece, max_size=12).map(b"".join)


@given(st.lists(st.tuples(_line, st.sampled_from((None, 2, "\t")), st.sampled_from(("\n", "", "\r\n", "\n\n", " ")))))
def test_every_object_of_a_sound_file_is_found(parts: list[tuple[dict[str, Any], Any, str]]) -> None:
    data = b"".join((json.dumps(value, indent=indent) + end).encode() for value, indent, end in parts)
    assert values(data) == [value for value, _, _ in parts]


@given(_file, st.integers(0, 2_000))
@example(b'{"type":"user"},\n', 15)
def test_a_part_of_a_file_gives_a_part_of_what_the_whole_gives(data: bytes, cut: int) -> None:
    part = parsed(data[:cut])
    assert part == parsed(data)[: len(part)]


@given(_file)
@example(b'{"a":[\n{"b":1}\n{\n"type":"user"\n}\n{"type":"user"}\n')
@example(b'{"type": "user"}{\n"a": [\n{"b": 1},\n{\n"c": 1\n}{\n"type": "user"\n}')
def test_reading_may_be_resumed_behind_any_object(data: bytes) -> None:
    all_at_once = parsed(data)
    for number, each in enumerate(all_at_once, 1):
        assert parsed(data, each.end) == all_at_once[number:]


@given(_file)
def test_what_is_found_is_there(data: bytes) -> None:
    ends = 0
    for each in parsed(data):
        assert each.start >= ends
        ends = each.end
        source = data[each.start : each.end].replace(b"\0", b" ").decode("utf-8", "replace")
        assert isinstance(json.loads(source, strict=False), dict)


@given(_file, _line)
def test_a_line_is_found_whatever_stands_above_it(data: bytes, line: dict[str, Any]) -> None:
    last = json.dumps(line | {"uuid": "the last"}).encode() + b"\n"
    assert values(data + b"\n" + last)[-1] == json.loads(last)
