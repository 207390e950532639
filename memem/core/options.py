"""Every setting there is, a row each; `memem config` prints the table and `docs/configuration.md` explains it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

HOME_VARIABLE = "MEMEM_DIR"
VAULT_VARIABLE = "MEMEM_OBSIDIAN_VAULT"
MODEL_VARIABLE = "MEMEM_MODEL_DIR"
EMBED_VARIABLE = "MEMEM_EMBED_MODEL"
DEFAULT_HOME = "~/.memem"
DEFAULT_EMBED_MODEL = "sentence-transformers/all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class Option:
    """One setting: its key in `config.toml`, its variable, its default as text, and how text becomes a value."""

    key: str
    variable: str
    default: str
    parse: Callable[[str], Any]
    meaning: str
    is_path: bool = False

    @property
    def plugin_variable(self) -> str:
        """What Claude Code tells the plugin's hooks the option of this name by, once its user has set it."""
        return f"CLAUDE_PLUGIN_OPTION_{self.key.upper()}"


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


def _folders(text: str) -> str:
    if "\0" in text:
        raise ValueError("use paths of folders")
    return text


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
        DEFAULT_EMBED_MODEL,
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
        "extractor",
        "MEMEM_EXTRACTOR",
        "claude",
        _one_of("claude", "rules"),
        "What mining learns with: the model through your own `claude`, or rules, which also serve where there is none.",
    ),
    Option(
        "model",
        "MEMEM_MODEL",
        "haiku",
        _name,
        "The model that `claude` is asked to mine with.",
    ),
    Option(
        "model_timeout",
        "MEMEM_MODEL_TIMEOUT",
        "180",
        _between(float, 0.1, 3_600),
        "How many seconds an answer of the model may take.",
    ),
    Option(
        "retry_base_seconds",
        "MEMEM_RETRY_BASE_SECONDS",
        "60",
        _between(float, 0, 86_400),
        "How long a session waits after its first failure; twice as long after each more. 0 tries at the next call.",
    ),
    Option(
        "max_failures",
        "MEMEM_MAX_FAILURES",
        "5",
        _between(int, 1, 1_000),
        "After so many failures in a row the turns are put aside as a dead letter, for `memem mine --retry`.",
    ),
    Option(
        "max_miners",
        "MEMEM_MAX_MINERS",
        "2",
        _between(int, 1, 64),
        "How many sessions may be mined at once on this machine.",
    ),
    Option(
        "daily_calls",
        "MEMEM_DAILY_CALLS",
        "200",
        _between(int, 0, 1_000_000),
        "How often the model may be asked in a day; the rest waits for tomorrow.",
    ),
    Option(
        "daily_usd",
        "MEMEM_DAILY_USD",
        "2",
        _between(float, 0, 100_000),
        "How much asking may cost in a day, in dollars, as `claude` reckons it; the rest waits for tomorrow.",
    ),
    Option(
        "redact_before_model",
        "MEMEM_REDACT_BEFORE_MODEL",
        "1",
        _switch,
        "Take secrets out of what the model is sent and of what is kept until its answer is applied.",
    ),
    Option(
        "mine_sdk",
        "MEMEM_MINE_SDK",
        "0",
        _switch,
        "Also mine sessions of `claude -p` and the Agent SDK; `memem mine --session FILE` always may.",
    ),
    Option(
        "extra_session_dirs",
        "MEMEM_EXTRA_SESSION_DIRS",
        "",
        _folders,
        "More folders with sessions, beside Claude Code's own; several are separated as in PATH.",
    ),
    Option(
        "recall_min_confidence",
        "MEMEM_RECALL_MIN_CONFIDENCE",
        "0.25",
        _between(float, 0, 1),
        "How likely a memory must be to help for it to come unasked: less is more talkative, more is quieter.",
    ),
    Option(
        "recall_min_item_score",
        "MEMEM_RECALL_MIN_ITEM_SCORE",
        "0.7",
        _between(float, 0, 1),
        "How much of the best one's score a memory must have to come unasked: those far behind it stay out.",
    ),
    Option(
        "recall_oov_threshold",
        "MEMEM_RECALL_OOV_THRESHOLD",
        "0.8",
        _between(float, 0, 1),
        "A prompt of which a larger share is in no memory gets nothing, unless it names something that one is about.",
    ),
    Option(
        "injection_mode",
        "MEMEM_INJECTION_MODE",
        "auto",
        _one_of("auto", "hybrid", "tool"),
        "What a prompt gets unasked: what deserves it; the same, less often; or nothing, and Claude asks by its tools.",
    ),
    Option(
        "inject_cadence",
        "MEMEM_INJECT_CADENCE",
        "2",
        _between(int, 1, 1_000),
        "With `hybrid`: after a slice, the next one comes this many prompts later, or when the topic changes.",
    ),
    Option(
        "empty_streak_max",
        "MEMEM_EMPTY_STREAK_MAX",
        "8",
        _between(int, 1, 1_000),
        "With `hybrid`: after so many prompts in a row that got nothing, nobody looks again until the topic changes.",
    ),
    Option(
        "topic_shift_threshold",
        "MEMEM_TOPIC_SHIFT_THRESHOLD",
        "0.85",
        _between(float, 0, 1),
        "With `hybrid`: a prompt whose cosine with the last one looked at is below this is of another topic.",
    ),
    Option(
        "pretool_gating",
        "MEMEM_PRETOOL_GATING",
        "0",
        _switch,
        "Before Claude reads or changes a file, show the memories about it, once for a file and session.",
    ),
    Option(
        "show_banner",
        "MEMEM_SHOW_BANNER",
        "0",
        _switch,
        "Show its user one line about the memory when a session begins.",
    ),
    Option(
        "allow_reading",
        "MEMEM_ALLOW_READING",
        "1",
        _switch,
        "Let Claude use memem's own reading tools without asking for permission.",
    ),
    Option(
        "tools",
        "MEMEM_TOOLS",
        "default",
        _one_of("default", "full"),
        "Which tools the MCP server offers: the seven that matter, or all of them.",
    ),
    Option(
        "index_transcripts",
        "MEMEM_INDEX_TRANSCRIPTS",
        "1",
        _switch,
        "Once mining is on: keep a full-text index of what was said in sessions, for `transcript_search`.",
    ),
    Option(
        "debug",
        "MEMEM_DEBUG",
        "0",
        _switch,
        "Show the traceback of an unexpected error.",
    ),
)
