"""Settings, read once: from the environment, then the plugin's options, then `config.toml`, then the defaults."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memem.core import files
from memem.core.errors import SettingsError
from memem.core.files import from_json, from_toml
from memem.core.home import Home
from memem.core.options import (
    DEFAULT_EMBED_MODEL,
    DEFAULT_HOME,
    HOME_VARIABLE,
    OPTIONS,
    REMOVED_KEYS,
    Former,
    Option,
    without_login,
)

PLUGIN = "the plugin's options"


@dataclass(frozen=True, slots=True)
class Settings:
    """The value of every option; `sources` says where each came from: a variable, a file, the plugin, the default."""

    home: Path
    vault: Path
    fsync: bool
    frontmatter_strict: str
    lock_seconds: float
    slice_characters: int
    encoder: str
    embed_model: str
    model_dir: Path | None
    query_seconds: float
    background: bool
    extractor: str
    model: str
    model_url: str
    model_timeout: float
    retry_base_seconds: float
    max_failures: int
    max_miners: int
    daily_calls: int
    daily_usd: float
    mine_sdk: bool
    extra_session_dirs: str
    recall_min_confidence: float
    recall_min_item_score: float
    recall_oov_threshold: float
    injection_mode: str
    inject_cadence: int
    empty_streak_max: int
    topic_shift_threshold: float
    pretool_gating: bool
    notices: str
    allow_reading: bool
    tools: str
    index_transcripts: bool
    debug: bool
    sources: Mapping[str, str]
    problems: tuple[str, ...] = ()  # invalid plugin options, for the user to see; another source was used


def plugin_options(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the options that Claude Code passes to the plugin's hooks, and to no other process."""
    values = {option.key: environ.get(option.plugin_variable, "") for option in OPTIONS}
    return {key: text for key, text in values.items() if text}


def locate_home(environ: Mapping[str, str], user_home: Path) -> Path:
    return expand(environ.get(HOME_VARIABLE) or DEFAULT_HOME, user_home, user_home)


def load(
    environ: Mapping[str, str],
    config_file: Path,
    home: Path,
    user_home: Path,
    folder: Path = Path(),
    plugin: Mapping[str, str] | None = None,
) -> Settings:
    """Load every setting from its first source. Relative paths start at `folder`."""
    configured = read_config(config_file)
    given = plugin_options(environ) or plugin or {}
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    problems: list[str] = []
    for option in OPTIONS:
        invalid = ""
        for text, source in _candidates(option, environ, given, configured, str(config_file)):
            try:
                values[option.key], sources[option.key] = option.parse(text), source
                break
            except ValueError as problem:
                # A typo in Claude Code's form must not stop memory, but a wrong vault would get the notes.
                if source != PLUGIN or option.is_path:
                    raise SettingsError(f"{option.key} is {without_login(text)!r} in {source}: {problem}.") from None
                invalid = (
                    f"memem: the plugin option {option.key} has the invalid value {without_login(text)!r} ({problem})"
                )
        if invalid:
            problems.append(f"{invalid}; using {text or 'none'}. Change it with /plugin.")
        if option.is_path and values[option.key] is not None:
            relative_to = config_file.parent if source == str(config_file) else folder
            values[option.key] = expand(values[option.key], user_home, relative_to)
    if sources["encoder"] == "default" and values["embed_model"] != DEFAULT_EMBED_MODEL:
        values["encoder"], sources["encoder"] = "sentence-transformers", sources["embed_model"]  # only it has models
    if values["model_url"] and sources["model"] == "default":
        values["model"] = ""  # the server is asked for the model that it has
    return Settings(home=home, sources=sources, problems=tuple(problems), **values)


def _candidates(
    option: Option, environ: Mapping[str, str], plugin: Mapping[str, str], configured: Mapping[str, str], file: str
) -> Iterator[tuple[str, str]]:
    """Yield the texts that set an option, each with its source; the first counts, the default is last."""
    former = option.former
    if environ.get(option.variable):
        yield environ[option.variable], option.variable
    if former and environ.get(former.variable):
        yield _translate(former, environ[former.variable], former.variable), former.variable
    if plugin.get(option.key):
        yield plugin[option.key], PLUGIN
    if option.key in configured:
        yield configured[option.key], file
    if former and former.key in configured:
        yield _translate(former, configured[former.key], file), file
    yield option.default, "default"


def _translate(former: Former, text: str, source: str) -> str:
    try:
        return former.translate(text)
    except ValueError as problem:
        raise SettingsError(f"{former.key} is {text!r} in {source}: {problem}.") from None


def read_config(config_file: Path) -> dict[str, str]:
    """Read the keys of `config.toml` as text. An unknown key is an error, since it is probably a typo."""
    try:
        raw = config_file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as problem:
        raise SettingsError(f"Cannot read {config_file}: {files.reason(problem)}.") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{config_file} is not UTF-8 text. Save it as UTF-8 and try again.") from None
    try:
        table = from_toml(raw)
    except ValueError as problem:
        raise SettingsError(f"{config_file} is not valid TOML: {problem}. Correct it and try again.") from None
    options = {option.key: option for option in OPTIONS}
    unknown = sorted(set(table) - set(options) - {each.former.key for each in OPTIONS if each.former} - REMOVED_KEYS)
    if unknown:
        keys = ", ".join(sorted(options))
        raise SettingsError(f"{config_file} has an unknown key {unknown[0]!r}. Known keys: {keys}.")
    for key, value in table.items():
        is_path = key in options and options[key].is_path
        if not isinstance(value, str if is_path else str | int | float):
            advice = "write the path as quoted text" if is_path else "use text or a number"
            raise SettingsError(f"{key} is {value!r} in {config_file}: {advice}.")
    return as_texts(table)


def as_texts(table: Mapping[str, Any]) -> dict[str, str]:
    """Write TOML values as the texts that a variable would have."""
    return {key: str(int(value) if isinstance(value, bool) else value) for key, value in table.items()}


def expand(text: str, user_home: Path, relative_to: Path) -> Path:
    """Make a path absolute, and replace `~`."""
    if text == "~" or text.startswith(("~/", "~\\")):
        return user_home / text[2:].lstrip("/\\")
    return Path(relative_to, text).absolute()


def stored_plugin_options(home: Home) -> dict[str, str]:
    """Read the options that a hook stored for processes that Claude Code does not pass them to."""
    try:
        stored = from_json(home.plugin_options.read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(key): str(text) for key, text in stored.items()} if isinstance(stored, dict) else {}
