"""Settings: read once, from the environment, then `config.toml`, then the defaults below.

Every option is one row of `OPTIONS`; `memem config` prints the table and `docs/configuration.md` explains it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memem.core.errors import SettingsError

HOME_VARIABLE = "MEMEM_DIR"
VAULT_VARIABLE = "MEMEM_OBSIDIAN_VAULT"
MODEL_VARIABLE = "MEMEM_MODEL_DIR"
EMBED_VARIABLE = "MEMEM_EMBED_MODEL"
DEFAULT_HOME = "~/.memem"


@dataclass(frozen=True, slots=True)
class Option:
    """One setting: its key in `config.toml`, its variable, its default as text, and how text becomes a value."""

    key: str
    variable: str
    default: str
    parse: Callable[[str], Any]
    meaning: str
    is_path: bool = False


def _switch(text: str) -> bool:
    word = text.strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError("use 1 or 0")


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"use one of {', '.join(choices)}")
        return text

    return parse


def _between(kind: Callable[[str], float], low: float, high: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            number = kind(text)
        except ValueError:
            raise ValueError(f"use a number from {low} to {high}") from None
        if not low <= number <= high:
            raise ValueError(f"use a number from {low} to {high}")
        return number

    return parse


def _folder(text: str) -> str:
    if not text.strip() or "\0" in text:
        raise ValueError("use the path of a folder")
    return text


def _folder_if_any(text: str) -> str | None:
    return _folder(text) if text else None


def _name(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("use a name")
    return text.strip()


OPTIONS = (
    Option(
        "vault",
        VAULT_VARIABLE,
        "~/obsidian-brain",
        _folder,
        "The Obsidian vault; everything of memem's is under `memem/` in it.",
        is_path=True,
    ),
    Option(
        "fsync",
        "MEMEM_FSYNC",
        "1",
        _switch,
        "Wait for the disk after every write. 0 is faster and may lose the last write when power fails.",
    ),
    Option(
        "frontmatter_strict",
        "MEMEM_FRONTMATTER_STRICT",
        "quarantine",
        _one_of("quarantine", "skip", "raise"),
        "A note that cannot be read: list it in `memem check`, leave it out silently, or stop with an error.",
    ),
    Option(
        "lock_seconds",
        "MEMEM_LOCK_SECONDS",
        "10",
        _between(float, 0, 600),
        "How long a write waits for another memem that is writing.",
    ),
    Option(
        "slice_characters",
        "MEMEM_SLICE_CHARACTERS",
        "8000",
        _between(int, 500, 9_500),
        "The longest slice. Claude Code replaces context over 10,000 characters by a preview.",
    ),
    Option(
        "encoder",
        "MEMEM_ENCODER",
        "minilm",
        _one_of("minilm", "sentence-transformers", "none"),
        "What turns text into vectors: our own, the library of that name (an extra), or nothing: keywords alone.",
    ),
    Option(
        "embed_model",
        EMBED_VARIABLE,
        "sentence-transformers/all-MiniLM-L6-v2",
        _name,
        "The model of the encoder `sentence-transformers`: a name on the hub, or a folder.",
    ),
    Option(
        "model_dir",
        MODEL_VARIABLE,
        "",
        _folder_if_any,
        "A folder with model.safetensors and vocab.txt of all-MiniLM-L6-v2, to be used before any other.",
        is_path=True,
    ),
    Option(
        "query_seconds",
        "MEMEM_QUERY_SECONDS",
        "10",
        _between(float, 0, 600),
        "How long a query waits for its own vector; after that keywords answer alone, and say so.",
    ),
    Option(
        "background",
        "MEMEM_BACKGROUND",
        "1",
        _switch,
        "Compute in the background the vectors that a command leaves to be computed.",
    ),
    Option(
        "debug",
        "MEMEM_DEBUG",
        "0",
        _switch,
        "Show the traceback of an unexpected error.",
    ),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """One consistent reading. `sources` says where each value came from: default, config.toml or environment."""

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
    debug: bool
    sources: Mapping[str, str]


def locate_home(environ: Mapping[str, str], user_home: Path) -> Path:
    """The root of everything that is not a note."""
    return _expand(environ.get(HOME_VARIABLE) or DEFAULT_HOME, user_home, user_home)


def load(environ: Mapping[str, str], config_file: Path, home: Path, user_home: Path, folder: Path = Path()) -> Settings:
    """Settings from the environment over `config.toml` over the defaults. Relative paths count from `folder`."""
    configured = read_config(config_file)
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for option in OPTIONS:
        text, source = option.default, "default"
        if option.key in configured:
            text, source = configured[option.key], str(config_file)
        if environ.get(option.variable):
            text, source = environ[option.variable], option.variable
        try:
            values[option.key] = option.parse(text)
        except ValueError as problem:
            raise SettingsError(f"{option.key} is {text!r} in {source}: {problem}.") from None
        sources[option.key] = source
        if option.is_path and values[option.key] is not None:
            relative_to = config_file.parent if source == str(config_file) else folder
            values[option.key] = _expand(values[option.key], user_home, relative_to)
    return Settings(home=home, sources=sources, **values)


def read_config(config_file: Path) -> dict[str, str]:
    """The keys of `config.toml` as text; an unknown key is an error, since it is most likely a typing slip."""
    try:
        raw = config_file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"{config_file} cannot be read: {problem}.") from None
    import tomllib  # most people have no config.toml

    try:
        table = tomllib.loads(raw)
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(f"{config_file} is not valid TOML: {problem}. Correct it and try again.") from None
    known = {option.key: option for option in OPTIONS}
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise SettingsError(f"{config_file} has an unknown key {unknown[0]!r}. Known: {', '.join(sorted(known))}.")
    for key, value in table.items():
        if not isinstance(value, str if known[key].is_path else str | int | float):
            raise SettingsError(f"{key} is {value!r} in {config_file}: use text or a number.")
    return as_texts(table)


def as_texts(table: Mapping[str, Any]) -> dict[str, str]:
    """TOML's values as the texts that a variable would hold."""
    return {key: str(int(value) if isinstance(value, bool) else value) for key, value in table.items()}


def _expand(text: str, user_home: Path, relative_to: Path) -> Path:
    if text == "~" or text.startswith(("~/", "~\\")):
        return user_home / text[2:].lstrip("/\\")
    return Path(relative_to, text).absolute()
