"""The task mode of a prompt, from the first verb that names one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.inject.prompt_kinds import GENERAL_MODE, infer_task


@pytest.mark.parametrize(
    ("prompt", "mode"),
    [
        ("Fix the login page", "debug"),
        ("it fails with a traceback", "debug"),
        ("why is it slow", "debug"),
        ("Review this branch", "review"),
        ("run pytest", "test"),
        ("Refactor the parser, then add a cache", "refactor"),
        ("rename Foo to Bar", "refactor"),
        ("Ship it: publish the release", "deploy"),
        ("update the README", "document"),
        ("Let us plan the migration", "plan"),
        ("Explain the token flow", "explain"),
        ("how do we sign tokens?", "explain"),
        ("Add a button", "build"),
        ("continue the auth rollout", "build"),
        ("ADD A BUTTON", "build"),
        ("please, implement it", "build"),
        ("explain, then fix", "explain"),
        ("fix, then explain", "debug"),
        ("hi", GENERAL_MODE),
        ("ok thanks", GENERAL_MODE),
        ("", GENERAL_MODE),
        ("address the prefix of fixtures", GENERAL_MODE),
        ("数据库连接池", GENERAL_MODE),
    ],
)
def test_the_first_telling_verb_names_the_mode(prompt: str, mode: str) -> None:
    assert infer_task(prompt) == mode


def test_pasted_data_far_below_does_not_name_the_mode() -> None:
    assert infer_task("hm " * 2_000 + "fix") == GENERAL_MODE


@given(st.text())
def test_any_prompt_has_a_mode_that_is_one_word(prompt: str) -> None:
    assert infer_task(prompt).isalpha()
