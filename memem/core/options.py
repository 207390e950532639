"""Every setting, one row each, and the parsers for their text. `docs/configuration.md` explains them."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

HOME_VARIABLE = "MEMEM_DIR"
VAULT_VARIABLE = "MEMEM_OBSIDIAN_VAULT"
MODEL_VARIABLE = "MEMEM_MODEL_DIR"
EMBED_VARIABLE = "MEMEM_EMBED_MODEL"
DEFAULT_HOME = "~/.memem"
DEFAULT_EMBED_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
REMOVED_KEYS = frozenset({"redact_before_model"})  # a config.toml may still have them; they are ignored


@dataclass(frozen=True, slots=True)
class Former:
    """An earlier spelling of a setting that keeps working: its key, its variable, and a translation of its values."""

    key: str
    variable: str
    translate: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Option:
    """One setting: its key in `config.toml`, its default as text, and the parser for its text."""

    key: str
    default: str
    parse: Callable[[str], Any]
    is_path: bool = False
    former: Former | None = None

    @property
    def variable(self) -> str:
        return VAULT_VARIABLE if self.key == "vault" else f"MEMEM_{self.key.upper()}"

    @property
    def plugin_variable(self) -> str:
        """The variable in which Claude Code passes the option to the plugin's hooks, once its user has set it."""
        return f"CLAUDE_PLUGIN_OPTION_{self.key.upper()}"

    @property
    def meaning(self) -> str:
        from memem.core.data_files import load_table  # hooks read settings, and need no descriptions

        return str(load_table(__file__, "options.toml")[self.key])


# Parsers raise ValueError with a hint at valid values.


def switch(text: str) -> bool:
    word = text.strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError("use 1 or 0")


def one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"use one of {', '.join(choices)}")
        return text

    return parse


def between(kind: Callable[[str], float], low: float, high: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        with suppress(ValueError):
            number = kind(text)
            if low <= number <= high:
                return number
        raise ValueError(f"use a number from {low} to {high}")

    return parse


def folder(text: str) -> str:
    if not text.strip() or "\0" in text:
        raise ValueError("use the path of a folder")
    return text


def folders(text: str) -> str:
    if "\0" in text:
        raise ValueError("use folder paths, separated as in PATH")
    return text


def model_url(text: str) -> str:
    """Accept the address of an OpenAI-compatible server; without a path, it is the usual one."""
    import re

    text = re.sub(r"/+(chat/completions/?)?$", "", text.strip())
    match = re.fullmatch(
        r"https?://(\[[\da-fA-F:.]+\]|[\w.-]+)(:(?P<port>\d{1,5}))?(?P<path>/[\w./~%+-]*)?", text, re.A
    )
    if text and (not match or int(match["port"] or 1) not in range(1, 65_536)):
        raise ValueError(
            "use a URL such as http://127.0.0.1:11434/v1, without a password; the key goes into MEMEM_MODEL_KEY"
        )
    return f"{text}/v1" if match and not match["path"] else text


def without_login(text: str) -> str:
    """Hide the password of a URL in a text that is to be shown."""
    import re

    return re.sub(r"(?<=//)[^/]*@|[?#].*", "…", text, flags=re.DOTALL) if "://" in text else text


def name(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("use a name")
    return text.strip()


OPTIONS = (
    Option("vault", "~/obsidian-brain", folder, is_path=True),
    Option("fsync", "1", switch),
    Option("frontmatter_strict", "quarantine", one_of("quarantine", "skip", "raise")),
    Option("lock_seconds", "10", between(float, 0, 600)),
    Option("slice_characters", "8000", between(int, 500, 9_500)),
    Option("encoder", "minilm", one_of("minilm", "sentence-transformers", "none")),
    Option("embed_model", DEFAULT_EMBED_MODEL, name),
    Option("model_dir", "", lambda text: folder(text) if text else None, is_path=True),
    Option("query_seconds", "10", between(float, 0, 600)),
    Option("background", "1", switch),
    Option("extractor", "claude", one_of("claude", "rules")),
    Option("model", "haiku", name),
    Option("model_url", "", model_url),
    Option("model_timeout", "180", between(float, 0.1, 3_600)),
    Option("retry_base_seconds", "60", between(float, 0, 86_400)),
    Option("max_failures", "5", between(int, 1, 1_000)),
    Option("max_miners", "2", between(int, 1, 64)),
    Option("daily_calls", "200", between(int, 0, 1_000_000)),
    Option("daily_usd", "2", between(float, 0, 100_000)),
    Option("mine_sdk", "0", switch),
    Option("extra_session_dirs", "", folders),
    Option("recall_min_confidence", "0.25", between(float, 0, 1)),
    Option("recall_min_item_score", "0.7", between(float, 0, 1)),
    Option("recall_oov_threshold", "0.8", between(float, 0, 1)),
    Option("injection_mode", "auto", one_of("auto", "hybrid", "tool")),
    Option("inject_cadence", "2", between(int, 1, 1_000)),
    Option("empty_streak_max", "8", between(int, 1, 1_000)),
    Option("topic_shift_threshold", "0.85", between(float, 0, 1)),
    Option("pretool_gating", "0", switch),
    Option(
        "notices",
        "changes",
        one_of("all", "changes", "off"),
        former=Former("show_banner", "MEMEM_SHOW_BANNER", lambda text: "all" if switch(text) else "changes"),
    ),
    Option("allow_reading", "1", switch),
    Option("tools", "default", one_of("default", "full")),
    Option("index_transcripts", "1", switch),
    Option("debug", "0", switch),
)
