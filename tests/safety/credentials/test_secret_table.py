"""The rules of gitleaks, as converted: usable, in plain words, and loaded by nobody who does not need them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import memem
from memem.safety.credentials.formats import BLOCK_RULES, PHRASE_RULES, WORD_RULES, Rule
from memem.safety.credentials.gitleaks import format_rules, named_rules
from memem.safety.credentials.redact import find, marked, redact

TABLE = list(dict.fromkeys(rule for _, rule in (*format_rules(), *named_rules())))


@pytest.mark.parametrize("rule", TABLE, ids=lambda rule: rule.kind)
def test_each_has_one_group_and_a_kind_that_can_be_told(rule: Rule) -> None:
    assert re.compile(rule.pattern, re.ASCII).groups == 1
    assert marked(f"[redacted: {rule.kind}]") == (rule.kind,)
    assert all(hint == hint.lower() for hint in rule.hints)


def test_whose_they_are_stands_in_the_notice() -> None:
    root = Path(memem.__file__).parent
    source = json.loads((root / "safety" / "credentials" / "gitleaks.json").read_text())["source"]
    assert f"the default rules of {source} " in (root.parent / "NOTICE").read_text()


def test_most_of_what_gitleaks_knows_is_there() -> None:
    assert len(TABLE) > 180


def test_a_value_beside_the_name_of_a_provider_is_known_by_its_length_and_letters() -> None:
    token = "q7x2" * 10  # zendesk's have 40
    assert redact(f'zendesk: "{token}"') == ('zendesk: "[redacted: zendesk secret key]"', ("zendesk secret key",))
    assert find(f'zendesk: "{token}x"') == []
    assert find(f"zendesk_build_id: {token}") == []


def test_words_of_the_same_length_are_none() -> None:
    assert find("looker: internationalisationary") == []
    assert find("dropbox: telecommunicate") == []


def test_no_repeat_is_nested_in_another_without_a_bound_but_in_key_files() -> None:
    """What makes a pattern take for ever: `(a+)+`. Those of key files are tried in test_secrets_in_time."""
    nested = re.compile(r"\((?:\?[:=!i-]+)?[^()]*[*+][^()]*\)[*+](?!\+)")
    patterns = [(rule.kind, rule.pattern) for rule in (*TABLE, *WORD_RULES, *PHRASE_RULES)]
    patterns += [(rule.kind, part) for rule in BLOCK_RULES for part in (rule.block, rule.item)]
    assert {kind for kind, pattern in patterns if nested.search(pattern)} == {"private key"}


def test_ordinary_text_loads_none_of_them() -> None:
    said = "Deploys run from the release branch only, after the tests in src/shop/api/handlers.py have passed."
    code = f"""
import sys
from memem.safety.credentials.redact import redact
assert redact({said!r})[1] == ()
assert "memem.safety.credentials.gitleaks" not in sys.modules
assert redact("we used ghp_" + "a1B2" * 9)[1] == ("github token",)
assert "memem.safety.credentials.gitleaks" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
