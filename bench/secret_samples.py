"""The labelled set of `python -m bench secrets`: formats of secrets (`secret_samples.toml`), in everything that carries
them. Letters are made at run time, the same at every run."""

import json
import re
import string
import tomllib
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

DEV, HELD = SPLITS = ("dev", "held")
WORDS, NAMED, WHOLE = SORTS = ("words", "named", "whole")
_HEX = string.digits + "abcdef"
_BASE32 = string.ascii_uppercase + "234567"
_ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "a": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "L": string.ascii_letters,
    "h": _HEX,
    "H": _HEX.upper(),
    "d": string.digits,
    "t": _BASE32,
    "b": string.ascii_letters + string.digits + "-_",
    "B": string.ascii_letters + string.digits + "+/",
    "w": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "bech": "qpzry9x8gf2tvdw0s3jn54khce6mua7l",
}
_BLANK = re.compile(r"\{(?:(uuid)|(bech|[AaULhHdtbBwp])(\d+))\}")
_PASSWORDS = ("walrus", "Saffron", "kestrel", "Umbrella", "thistle", "Monsoon")
_BRACES = re.compile(r"\{\{|\}\}")

# {} is where the secret stands, {n} what it is called, {words} the same in prose.
_PLACES = {
    "prose": "we used {} in staging, and it worked.",
    "end of a sentence": "I have put it into the tool: {}.",
    "list": "- first, {}, then the rest",
    "env file": "DEBUG=1\nVALUE={}\nPORT=80\n",
    "yaml": "service:\n  value: {}\n  port: 80\n",
    "json": '{{"value": "{}", "port": 80}}',
    "shell": "curl -s https://api.internal/v1 -d v={} | jq .",
    "query": "https://api.internal/v1?v={}&page=2",
    "header": "X-Thing: {}",
    "python": 'client = Client("{}", timeout=3)',
    "javascript": "const client = new Client('{}');",
    "go": 'c := New("{}")',
    "diff": "-  value: old\n+  value: {}\n",
    "log line": "2026-01-01T10:00:00.123Z INFO worker=3 sent {} to queue",
    "markdown table": "| name | value |\n|---|---|\n| it | `{}` |",
    "code fence": "```\n{}\n```",
    "carriage returns": "first\r\n{}\r\nlast\r\n",
    "html": "<td>{}</td>",
}
_ASSIGNMENTS = {
    "env file": "DEBUG=1\n{n}={}\nPORT=80\n",
    "quoted env file": 'export {n}="{}"',
    "yaml": "service:\n  {n}: {}\n  port: 80\n",
    "json": '{{"{n}": "{}", "port": 80}}',
    "toml": '{n} = "{}"',
    "python": 'settings["{n}"] = "{}"',
    "javascript": "const config = {{ {n}: '{}', port: 80 }};",
    "java": 'private static final String {n} = "{}";',
    "php": "'{n}' => '{}',",
    "dockerfile": "ENV {n}={}",
    "compose": "    environment:\n      - {n}={}\n",
    "terraform": '  {n} = "{}"\n',
    "query": "https://api.internal/v1?{n}={}&page=2",
    "diff": "+{n}={}\n",
    "log line": "2026-01-01T10:00:00Z INFO started {n}={} port=80",
    "markdown": "- **{n}**: `{}`",
    "prose": "the {words} is {} by the way",
    "carriage returns": "A=1\r\n{n}={}\r\nB=2\r\n",
}
_AROUND = {
    "alone": "{}",
    "prose": "I ran this:\n\n{}\n\nand it worked.",
    "code fence": "```\n{}\n```",
    "log line": "2026-01-01T10:00:00Z DEBUG {}",
}
_CARRIERS = {WORDS: _PLACES, NAMED: _ASSIGNMENTS, WHOLE: _AROUND}


@dataclass(frozen=True, slots=True)
class Sample:
    """A text with a secret in it, or, where that is empty, one that has to pass as it is."""

    name: str
    sort: str
    carrier: str
    split: str
    text: str
    secret: str = ""


@cache
def samples() -> tuple[Sample, ...]:
    """Every secret in everything that may carry it, also as JSON within JSON, which is how tools' outputs come."""
    return tuple(sample for sort in SORTS for sample in _of_sort(sort))


@cache
def harmless() -> tuple[Sample, ...]:
    """Texts that only look like a secret, alone and in a sentence."""
    random = Random(9)
    return tuple(
        Sample(name, "harmless", carrier, DEV, around.format(_filled(text, random)))
        for name, texts in _table()["harmless"].items()
        for text in texts
        for carrier, around in (("alone", "{}"), ("prose", "It says {} there."), ("line", "first\n{}\nlast"))
    )


def split_of(name: str) -> str:
    """A third of the formats is held out, by the checksum of their names: nobody looks at those while mending."""
    return HELD if zlib.crc32(name.encode()) % 3 == 0 else DEV


def _of_sort(sort: str) -> Iterator[Sample]:
    for name, given in _table()[sort].items():
        called, template = (str(given[0]), str(given[1])) if isinstance(given, list) else ("", str(given))
        for number, (carrier, around) in enumerate(_CARRIERS[sort].items()):
            marked = _filled(template, Random(zlib.crc32(f"{name}{number}".encode())))
            if "«" not in marked:
                marked = f"«{marked}»"
            secret = marked[marked.index("«") + 1 : marked.index("»")]
            words = re.sub(r"\W+|_", " ", called).strip().lower()
            text = around.format(marked.replace("«", "").replace("»", ""), n=called, words=words)
            label = f"{name}, {sort}"
            yield Sample(label, sort, carrier, split_of(label), text, secret)
            if carrier in ("json", "alone"):
                inner = json.dumps({"stdout": text})
                escaped = json.dumps(json.dumps(secret)[1:-1])[1:-1]
                yield Sample(label, sort, "json in json", split_of(label), json.dumps({"content": inner}), escaped)


def _filled(template: str, random: Random) -> str:
    def fill_blank(blank: re.Match[str]) -> str:
        if blank[1]:
            return str(uuid.UUID(int=random.getrandbits(128), version=4))
        if blank[2] == "p":
            return f"{random.choice(_PASSWORDS)}{random.randrange(10, 99)}{random.choice('!#%-.')}"
        return "".join(random.choices(_ALPHABETS[blank[2]], k=int(blank[3])))

    return _BRACES.sub(lambda pair: pair.group()[0], _BLANK.sub(fill_blank, template))


@cache
def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
