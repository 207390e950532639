"""Settings come from the environment, then config.toml, then the defaults; a wrong one is named with its place."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core import settings
from memem.core.errors import SettingsError
from memem.core.options import OPTIONS, Option
from memem.core.settings import Settings


def load(root: Path, config: str | bytes | None = None, **environ: str) -> Settings:
    """The settings of a person whose home is `root/user`, with `root/home` as MEMEM_DIR."""
    if config is not None:
        config_file(root).parent.mkdir(exist_ok=True)
        config_file(root).write_bytes(config.encode() if isinstance(config, str) else config)
    return settings.load(environ, config_file(root), root / "home", root / "user")


def config_file(root: Path) -> Path:
    return root / "home" / "config.toml"


def variable(key: str) -> str:
    return next(option.variable for option in OPTIONS if option.key == key)


# --- where a value comes from -------------------------------------------------------------------------------------


def test_without_any_choice_the_defaults_hold(tmp_path: Path) -> None:
    assert load(tmp_path) == Settings(
        home=tmp_path / "home",
        vault=tmp_path / "user" / "obsidian-brain",
        fsync=True,
        frontmatter_strict="quarantine",
        lock_seconds=10,
        slice_characters=8_000,
        encoder="minilm",
        embed_model="sentence-transformers/all-MiniLM-L6-v2",
        model_dir=None,
        query_seconds=10,
        background=True,
        extractor="claude",
        model="haiku",
        model_url="",
        model_timeout=180,
        retry_base_seconds=60,
        max_failures=5,
        max_miners=2,
        daily_calls=200,
        daily_usd=2,
        mine_sdk=False,
        extra_session_dirs="",
        recall_min_confidence=0.25,
        recall_min_item_score=0.7,
        recall_oov_threshold=0.8,
        injection_mode="auto",
        inject_cadence=2,
        empty_streak_max=8,
        topic_shift_threshold=0.85,
        pretool_gating=False,
        notices="changes",
        allow_reading=True,
        tools="default",
        index_transcripts=True,
        debug=False,
        sources={option.key: "default" for option in OPTIONS},
    )


CHOICES: list[tuple[str, str, Any, str, Any]] = [
    ("vault", '"/from/config"', Path("/from/config"), "/from/variable", Path("/from/variable")),
    ("fsync", "false", False, "1", True),
    ("frontmatter_strict", '"skip"', "skip", "raise", "raise"),
    ("lock_seconds", "2.5", 2.5, "0", 0),
    ("slice_characters", "900", 900, "9500", 9_500),
    ("encoder", '"none"', "none", "sentence-transformers", "sentence-transformers"),
    ("embed_model", '"a/b"', "a/b", "c", "c"),
    ("model_dir", '"/from/config"', Path("/from/config"), "/from/variable", Path("/from/variable")),
    ("query_seconds", "0.5", 0.5, "0", 0),
    ("background", "false", False, "1", True),
    ("recall_min_confidence", "0.5", 0.5, "1", 1),
    ("recall_min_item_score", "0.0", 0, "0.9", 0.9),
    ("recall_oov_threshold", "0", 0, "1", 1),
    ("injection_mode", '"tool"', "tool", "hybrid", "hybrid"),
    ("inject_cadence", "3", 3, "1", 1),
    ("empty_streak_max", "2", 2, "9", 9),
    ("topic_shift_threshold", "0.5", 0.5, "1", 1),
    ("pretool_gating", "true", True, "0", False),
    ("notices", '"all"', "all", "off", "off"),
    ("allow_reading", "false", False, "1", True),
    ("tools", '"full"', "full", "default", "default"),
    ("index_transcripts", "false", False, "1", True),
    ("extractor", '"rules"', "rules", "claude", "claude"),
    ("model", '"sonnet"', "sonnet", "opus", "opus"),
    ("model_url", '"http://127.0.0.1:1"', "http://127.0.0.1:1/v1", "https://h/v1", "https://h/v1"),
    ("model_timeout", "0.5", 0.5, "3600", 3_600),
    ("retry_base_seconds", "0", 0, "86400", 86_400),
    ("max_failures", "1", 1, "9", 9),
    ("max_miners", "1", 1, "64", 64),
    ("daily_calls", "0", 0, "50", 50),
    ("daily_usd", "0.25", 0.25, "0", 0),
    ("mine_sdk", "true", True, "0", False),
    ("extra_session_dirs", '"/a:/b"', "/a:/b", "~/c", "~/c"),
    ("debug", "true", True, "0", False),
]


@pytest.mark.parametrize(("key", "configured", "expected", "_text", "_value"), CHOICES)
def test_config_toml_overrides_the_default(
    tmp_path: Path, key: str, configured: str, expected: Any, _text: str, _value: Any
) -> None:
    loaded = load(tmp_path, f"{key} = {configured}\n")
    assert getattr(loaded, key) == expected
    set_by_it = {key, "encoder"} if key == "embed_model" else {key}
    assert loaded.sources == {option.key: "default" for option in OPTIONS} | dict.fromkeys(
        set_by_it, str(config_file(tmp_path))
    )


@pytest.mark.parametrize(("key", "configured", "_value", "text", "expected"), CHOICES)
def test_the_environment_overrides_config_toml(
    tmp_path: Path, key: str, configured: str, _value: Any, text: str, expected: Any
) -> None:
    loaded = load(tmp_path, f"{key} = {configured}\n", **{variable(key): text})
    assert getattr(loaded, key) == expected
    assert loaded.sources[key] == variable(key)


def test_a_model_that_is_named_is_used_unless_another_encoder_is_named_too(tmp_path: Path) -> None:
    named = {"MEMEM_EMBED_MODEL": "intfloat/multilingual-e5-small"}
    alone = load(tmp_path, **named)
    assert (alone.encoder, alone.sources["encoder"]) == ("sentence-transformers", "MEMEM_EMBED_MODEL")
    assert load(tmp_path, **named, MEMEM_ENCODER="minilm").encoder == "minilm"
    assert load(tmp_path, MEMEM_EMBED_MODEL="sentence-transformers/all-MiniLM-L6-v2").encoder == "minilm"


def test_every_option_is_a_setting_and_every_setting_has_a_choice_above() -> None:
    fields = {field.name for field in dataclasses.fields(Settings)} - {"home", "sources", "problems"}
    assert fields == {option.key for option in OPTIONS} == {choice[0] for choice in CHOICES}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.key)
def test_an_empty_variable_counts_as_unset(tmp_path: Path, option: Option) -> None:
    assert load(tmp_path, **{option.variable: ""}) == load(tmp_path)


@pytest.mark.parametrize("text", ["1", "true", "TRUE", "yes", "on", " On "])
def test_a_switch_is_on(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, MEMEM_DEBUG=text).debug is True


@pytest.mark.parametrize("text", ["0", "false", "False", "no", "off", " OFF "])
def test_a_switch_is_off(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, MEMEM_FSYNC=text).fsync is False


# --- values that cannot be used -----------------------------------------------------------------------------------

BAD = [
    ("vault", "   "),
    ("fsync", "maybe"),
    ("fsync", "2"),
    ("frontmatter_strict", "Raise"),
    ("frontmatter_strict", "quarantine, skip"),
    ("lock_seconds", "soon"),
    ("lock_seconds", "-1"),
    ("lock_seconds", "600.1"),
    ("lock_seconds", "nan"),
    ("lock_seconds", "inf"),
    ("slice_characters", "499"),
    ("slice_characters", "9501"),
    ("slice_characters", "800.5"),
    ("slice_characters", "many"),
    ("recall_min_confidence", "1.1"),
    ("recall_min_confidence", "high"),
    ("recall_min_item_score", "-0.1"),
    ("recall_oov_threshold", "nan"),
    ("debug", "verbose"),
]


@pytest.mark.parametrize(("key", "value"), BAD)
def test_invalid_variable_is_reported_with_value_and_advice(tmp_path: Path, key: str, value: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        load(tmp_path, **{variable(key): value})
    message = str(refusal.value)
    assert message.startswith(f"{key} is {value!r} in {variable(key)}: use ")
    assert message.endswith(".")


@pytest.mark.parametrize(("key", "value"), BAD)
def test_a_bad_config_value_is_named_with_its_value_and_file(tmp_path: Path, key: str, value: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        load(tmp_path, f'{key} = "{value}"\n')
    assert str(refusal.value).startswith(f"{key} is {value!r} in {config_file(tmp_path)}: use ")


@pytest.mark.parametrize("value", ["true", "7", "1.5", '["a", "b"]', '{ path = "a" }', "2026-03-01"])
def test_a_vault_that_is_not_text_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(SettingsError, match="vault"):
        load(tmp_path, f"vault = {value}\n")


@pytest.mark.parametrize("key", [option.key for option in OPTIONS])
def test_list_is_invalid_for_every_option(tmp_path: Path, key: str) -> None:
    with pytest.raises(SettingsError, match=key):
        load(tmp_path, f'{key} = ["1"]\n')


def test_a_bad_value_in_config_does_not_matter_when_a_variable_overrides_it(tmp_path: Path) -> None:
    assert load(tmp_path, 'lock_seconds = "soon"\n', MEMEM_LOCK_SECONDS="3").lock_seconds == 3


def test_removed_setting_is_ignored(tmp_path: Path) -> None:
    loaded = load(tmp_path, "redact_before_model = false\nfsync = 0\n", MEMEM_REDACT_BEFORE_MODEL="0")
    assert loaded == load(tmp_path, "fsync = 0\n")


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.key)
def test_every_option_is_described(option: Option) -> None:
    assert option.meaning.endswith(".")


def test_unknown_key_is_reported_with_the_valid_ones(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refusal:
        load(tmp_path, 'valut = "/x"\n')
    message = str(refusal.value)
    assert "'valut'" in message
    assert str(config_file(tmp_path)) in message
    assert all(option.key in message for option in OPTIONS)


@pytest.mark.parametrize("config", ["vault = \n", "vault", "vault = 'a'\nvault = 'b'\n", "= 1", "[vault\n"])
def test_broken_toml_is_an_error_that_names_the_file(tmp_path: Path, config: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        load(tmp_path, config)
    assert str(refusal.value).startswith(f"{config_file(tmp_path)} is not valid TOML: ")


def test_a_config_file_that_is_not_utf8_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"config\.toml is not UTF-8 text\. Save it as UTF-8"):
        load(tmp_path, 'vault = "/caf\xe9"\n'.encode("latin-1"))


def test_a_path_that_is_not_text_is_an_error_that_says_how_to_write_it(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"vault is 7 in .*config\.toml: write the path as quoted text\."):
        load(tmp_path, "vault = 7\n")


def test_a_folder_in_the_place_of_config_toml_is_an_error_that_names_it(tmp_path: Path) -> None:
    config_file(tmp_path).mkdir(parents=True)
    with pytest.raises(SettingsError, match=r"Cannot read .*config\.toml: it is a folder, not a file"):
        load(tmp_path)


@given(st.sampled_from(OPTIONS), st.text(min_size=1).filter(lambda text: "\0" not in text))
def test_any_value_is_used_or_refused_in_one_line_that_names_the_key(tmp_path: Path, option: Option, text: str) -> None:
    try:
        loaded = load(tmp_path, **{option.variable: text})
    except SettingsError as refusal:
        assert str(refusal).startswith(option.key)
        assert len(str(refusal).splitlines()) == 1
    else:
        assert loaded.sources[option.key] == option.variable


# --- folders ------------------------------------------------------------------------------------------------------

HOMES = [
    ({}, ".memem"),
    ({"MEMEM_DIR": ""}, ".memem"),
    ({"MEMEM_DIR": "~"}, ""),
    ({"MEMEM_DIR": "~/kept/here"}, "kept/here"),
    ({"MEMEM_DIR": "~\\kept"}, "kept"),
    ({"MEMEM_DIR": "kept/here"}, "kept/here"),
]


@pytest.mark.parametrize(("environ", "expected"), HOMES)
def test_the_home_is_found_from_the_persons_own(tmp_path: Path, environ: dict[str, str], expected: str) -> None:
    assert settings.locate_home(environ, tmp_path) == tmp_path / expected


def test_an_absolute_home_is_taken_as_it_is(tmp_path: Path) -> None:
    assert settings.locate_home({"MEMEM_DIR": str(tmp_path / "x")}, Path("/elsewhere")) == tmp_path / "x"


@pytest.mark.parametrize("text", ["~", "~/notes", "~//notes", "~/a b/ü"])
def test_a_tilde_is_the_persons_home_wherever_it_is_written(tmp_path: Path, text: str) -> None:
    expected = tmp_path / "user" / text.lstrip("~/")
    assert load(tmp_path, MEMEM_OBSIDIAN_VAULT=text).vault == expected
    assert load(tmp_path, f'vault = "{text}"\n').vault == expected


def test_another_persons_tilde_is_an_ordinary_name(tmp_path: Path) -> None:
    assert load(tmp_path, MEMEM_OBSIDIAN_VAULT="/x/~bob").vault == Path("/x/~bob")


def test_a_relative_vault_in_a_variable_is_seen_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert load(tmp_path, MEMEM_OBSIDIAN_VAULT="notes").vault == tmp_path / "work" / "notes"


def test_a_relative_vault_in_config_toml_is_seen_from_that_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert load(tmp_path, 'vault = "notes"\n').vault == tmp_path / "home" / "notes"


# --- what was set in Claude Code ----------------------------------------------------------------------------------


def test_plugin_option_ranks_between_variable_and_config_toml(tmp_path: Path) -> None:
    told = {"CLAUDE_PLUGIN_OPTION_INJECTION_MODE": "tool"}
    found = load(tmp_path, 'injection_mode = "hybrid"\n', **told)
    assert (found.injection_mode, found.sources["injection_mode"]) == ("tool", settings.PLUGIN)
    assert load(tmp_path, MEMEM_INJECTION_MODE="auto", **told).injection_mode == "auto"


def test_options_that_a_hook_has_stored_count_where_claude_code_tells_none(tmp_path: Path) -> None:
    def loaded(environ: dict[str, str]) -> Settings:
        stored = {"vault": "~/notes"}
        return settings.load(environ, config_file(tmp_path), tmp_path / "home", tmp_path / "user", plugin=stored)

    assert loaded({}).vault == tmp_path / "user" / "notes"
    assert loaded({"CLAUDE_PLUGIN_OPTION_VAULT": "/told"}).vault == Path("/told")


def test_an_invalid_plugin_option_is_named_and_the_next_best_value_is_used(tmp_path: Path) -> None:
    loaded = load(tmp_path, CLAUDE_PLUGIN_OPTION_INJECTION_MODE="loud", CLAUDE_PLUGIN_OPTION_DAILY_USD="lots")
    assert (loaded.injection_mode, loaded.daily_usd) == ("auto", 2.0)
    assert loaded.sources["injection_mode"] == "default"
    money, mode = sorted(loaded.problems)
    assert money.startswith("memem: the plugin option daily_usd has the invalid value 'lots' (use a number from 0 to")
    assert mode == (
        "memem: the plugin option injection_mode has the invalid value 'loud' (use one of auto, hybrid, tool); "
        "using auto. Change it with /plugin."
    )
    configured = load(tmp_path, 'injection_mode = "tool"\n', CLAUDE_PLUGIN_OPTION_INJECTION_MODE="loud")
    assert configured.injection_mode == "tool"
    with pytest.raises(SettingsError, match="injection_mode is 'shy' in"):
        load(tmp_path, 'injection_mode = "shy"\n', CLAUDE_PLUGIN_OPTION_INJECTION_MODE="loud")


def test_an_invalid_vault_in_the_plugin_options_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="vault is ' ' in the plugin's options: use the path of a folder"):
        load(tmp_path, CLAUDE_PLUGIN_OPTION_VAULT=" ")


def test_the_former_banner_setting_still_works(tmp_path: Path) -> None:
    assert load(tmp_path, "show_banner = true\n").notices == "all"
    assert load(tmp_path, "show_banner = 0\n").notices == "changes"
    assert load(tmp_path, MEMEM_SHOW_BANNER="1").sources["notices"] == "MEMEM_SHOW_BANNER"
    assert load(tmp_path, "show_banner = true\n", MEMEM_NOTICES="off").notices == "off"
    with pytest.raises(SettingsError, match="show_banner is 'maybe' in MEMEM_SHOW_BANNER: use 1 or 0"):
        load(tmp_path, MEMEM_SHOW_BANNER="maybe")
