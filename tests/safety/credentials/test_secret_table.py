"""The converted rules of gitleaks: usable, named in plain words, and read only when needed."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import memem
from memem.safety.credentials.formats import FormatRule, load_gitleaks, load_rules
from memem.safety.credentials.redact import find, marked, redact

TABLE = list(dict.fromkeys(rule for _, rule in (*load_gitleaks("formats"), *load_gitleaks("named"))))


@pytest.mark.parametrize("rule", TABLE, ids=lambda rule: rule.kind)
def test_each_rule_has_one_group_and_a_printable_kind(rule: FormatRule) -> None:
    assert re.compile(rule.pattern, re.ASCII).groups == 1
    assert marked(f"[redacted: {rule.kind}]") == (rule.kind,)
    assert all(hint == hint.lower() for hint in rule.hints)


def test_notice_names_the_source() -> None:
    root = Path(memem.__file__).parent
    source = json.loads((root / "safety" / "credentials" / "gitleaks.json").read_text())["source"]
    assert f"the default rules of {source} " in (root.parent / "NOTICE").read_text()


def test_most_rules_of_gitleaks_are_included() -> None:
    assert len(TABLE) > 180


def test_value_next_to_a_provider_is_recognised_by_length_and_letters() -> None:
    token = "q7x2" * 10  # zendesk's have 40
    assert redact(f'zendesk: "{token}"') == ('zendesk: "[redacted: zendesk secret key]"', ("zendesk secret key",))
    assert find(f'zendesk: "{token}x"') == []
    assert find(f"zendesk_build_id: {token}") == []


def test_words_of_the_same_length_are_not_secrets() -> None:
    assert find("looker: internationalisationary") == []
    assert find("dropbox: telecommunicate") == []


def test_only_key_files_nest_unbounded_repeats() -> None:
    """Repeats such as `(a+)+` can take forever. Those of key files are tested in test_secrets_in_time."""
    nested = re.compile(r"\((?:\?[:=!i-]+)?[^()]*[*+][^()]*\)[*+](?!\+)")
    rules = [*TABLE, *(rule for part in ("words", "phrases", "blocks") for _, rule in load_rules(part))]
    patterns = [(rule.kind, pattern) for rule in rules for pattern in (rule.pattern, rule.block)]
    assert {kind for kind, pattern in patterns if nested.search(pattern)} == {"private key"}


def test_ordinary_text_does_not_read_them() -> None:
    text = "Deploys run from the release branch only, after the tests in src/shop/api/handlers.py have passed."
    code = f"""
from memem.safety.credentials import formats
from memem.safety.credentials.redact import redact
assert redact({text!r})[1] == ()
assert formats._gitleaks.cache_info().currsize == 0
assert redact("we used ghp_" + "a1B2" * 9)[1] == ("github token",)
assert formats._gitleaks.cache_info().currsize == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True)
