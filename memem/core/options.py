"""Every setting there is, a row each; `memem config` prints the table and `docs/configuration.md` explains it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memem.core.option_values import between, folder, folder_if_any, folders, name, one_of, switch

HOME_VARIABLE = "MEMEM_DIR"
VAULT_VARIABLE = "MEMEM_OBSIDIAN_VAULT"
MODEL_VARIABLE = "MEMEM_MODEL_DIR"
EMBED_VARIABLE = "MEMEM_EMBED_MODEL"
DEFAULT_HOME = "~/.memem"
DEFAULT_EMBED_MODEL = "sentence-transformers/all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class Former:
    """An earlier spelling of a setting, which keeps working: its key, its variable, and what its text means now."""

    key: str
    variable: str
    translate: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Option:
    """One setting: its key in `config.toml`, its variable, its default as text, and how text becomes a value."""

    key: str
    variable: str
    default: str
    parse: Callable[[str], Any]
    meaning: str
    is_path: bool = False
    former: Former | None = None

    @property
    def plugin_variable(self) -> str:
        """What Claude Code tells the plugin's hooks the option of this name by, once its user has set it."""
        return f"CLAUDE_PLUGIN_OPTION_{self.key.upper()}"


OPTIONS = (
    Option(
        "vault",
        VAULT_VARIABLE,
        "~/obsidian-brain",
        folder,
        "The Obsidian vault; everything of memem's is under `memem/` in it.",
        is_path=True,
    ),
    Option(
        "fsync",
        "MEMEM_FSYNC",
        "1",
        switch,
        "Wait for the disk after every write. 0 is faster and may lose the last write when power fails.",
    ),
    Option(
        "frontmatter_strict",
        "MEMEM_FRONTMATTER_STRICT",
        "quarantine",
        one_of("quarantine", "skip", "raise"),
        "A note that cannot be read: list it in `memem check`, leave it out silently, or stop with an error.",
    ),
    Option(
        "lock_seconds",
        "MEMEM_LOCK_SECONDS",
        "10",
        between(float, 0, 600),
        "How long a write waits for another memem that is writing.",
    ),
    Option(
        "slice_characters",
        "MEMEM_SLICE_CHARACTERS",
        "8000",
        between(int, 500, 9_500),
        "The longest slice. Claude Code replaces context over 10,000 characters by a preview.",
    ),
    Option(
        "encoder",
        "MEMEM_ENCODER",
        "minilm",
        one_of("minilm", "sentence-transformers", "none"),
        "What turns text into vectors: our own, the library of that name (an extra), or nothing: keywords alone.",
    ),
    Option(
        "embed_model",
        EMBED_VARIABLE,
        DEFAULT_EMBED_MODEL,
        name,
        "The model of the encoder `sentence-transformers`: a name on the hub, or a folder.",
    ),
    Option(
        "model_dir",
        MODEL_VARIABLE,
        "",
        folder_if_any,
        "A folder with model.safetensors and vocab.txt of all-MiniLM-L6-v2, to be used before any other.",
        is_path=True,
    ),
    Option(
        "query_seconds",
        "MEMEM_QUERY_SECONDS",
        "10",
        between(float, 0, 600),
        "How long a query waits for its own vector; after that keywords answer alone, and say so.",
    ),
    Option(
        "background",
        "MEMEM_BACKGROUND",
        "1",
        switch,
        "Compute in the background the vectors that a command leaves to be computed.",
    ),
    Option(
        "extractor",
        "MEMEM_EXTRACTOR",
        "claude",
        one_of("claude", "rules"),
        "What mining learns with: the model through your own `claude`, or rules, which also serve where there is none.",
    ),
    Option(
        "model",
        "MEMEM_MODEL",
        "haiku",
        name,
        "The model that `claude` is asked to mine with.",
    ),
    Option(
        "model_timeout",
        "MEMEM_MODEL_TIMEOUT",
        "180",
        between(float, 0.1, 3_600),
        "How many seconds an answer of the model may take.",
    ),
    Option(
        "retry_base_seconds",
        "MEMEM_RETRY_BASE_SECONDS",
        "60",
        between(float, 0, 86_400),
        "How long a session waits after its first failure; twice as long after each more. 0 tries at the next call.",
    ),
    Option(
        "max_failures",
        "MEMEM_MAX_FAILURES",
        "5",
        between(int, 1, 1_000),
        "After so many failures in a row the turns are put aside as a dead letter, for `memem mine --retry`.",
    ),
    Option(
        "max_miners",
        "MEMEM_MAX_MINERS",
        "2",
        between(int, 1, 64),
        "How many sessions may be mined at once on this machine.",
    ),
    Option(
        "daily_calls",
        "MEMEM_DAILY_CALLS",
        "200",
        between(int, 0, 1_000_000),
        "How often the model may be asked in a day; the rest waits for tomorrow.",
    ),
    Option(
        "daily_usd",
        "MEMEM_DAILY_USD",
        "2",
        between(float, 0, 100_000),
        "How much asking may cost in a day, in dollars, as `claude` reckons it; the rest waits for tomorrow.",
    ),
    Option(
        "redact_before_model",
        "MEMEM_REDACT_BEFORE_MODEL",
        "1",
        switch,
        "Take secrets out of what the model is sent and of what is kept until its answer is applied.",
    ),
    Option(
        "mine_sdk",
        "MEMEM_MINE_SDK",
        "0",
        switch,
        "Also mine sessions of `claude -p` and the Agent SDK; `memem mine --session FILE` always may.",
    ),
    Option(
        "extra_session_dirs",
        "MEMEM_EXTRA_SESSION_DIRS",
        "",
        folders,
        "More folders with sessions, beside Claude Code's own; several are separated as in PATH.",
    ),
    Option(
        "recall_min_confidence",
        "MEMEM_RECALL_MIN_CONFIDENCE",
        "0.25",
        between(float, 0, 1),
        "How likely a memory must be to help for it to come unasked: less is more talkative, more is quieter.",
    ),
    Option(
        "recall_min_item_score",
        "MEMEM_RECALL_MIN_ITEM_SCORE",
        "0.7",
        between(float, 0, 1),
        "How much of the best one's score a memory must have to come unasked: those far behind it stay out.",
    ),
    Option(
        "recall_oov_threshold",
        "MEMEM_RECALL_OOV_THRESHOLD",
        "0.8",
        between(float, 0, 1),
        "A prompt of which a larger share is in no memory gets nothing, unless it names something that one is about.",
    ),
    Option(
        "injection_mode",
        "MEMEM_INJECTION_MODE",
        "auto",
        one_of("auto", "hybrid", "tool"),
        "What a prompt gets unasked: what deserves it; the same, less often; or nothing, and Claude asks by its tools.",
    ),
    Option(
        "inject_cadence",
        "MEMEM_INJECT_CADENCE",
        "2",
        between(int, 1, 1_000),
        "With `hybrid`: after a slice, the next one comes this many prompts later, or when the topic changes.",
    ),
    Option(
        "empty_streak_max",
        "MEMEM_EMPTY_STREAK_MAX",
        "8",
        between(int, 1, 1_000),
        "With `hybrid`: after so many prompts in a row that got nothing, nobody looks again until the topic changes.",
    ),
    Option(
        "topic_shift_threshold",
        "MEMEM_TOPIC_SHIFT_THRESHOLD",
        "0.85",
        between(float, 0, 1),
        "With `hybrid`: a prompt whose cosine with the last one looked at is below this is of another topic.",
    ),
    Option(
        "pretool_gating",
        "MEMEM_PRETOOL_GATING",
        "0",
        switch,
        "Before Claude reads or changes a file, show the memories about it, once for a file and session.",
    ),
    Option(
        "notices",
        "MEMEM_NOTICES",
        "changes",
        one_of("all", "changes", "off"),
        "What you see on screen: `changes` is what memem learned and problems that start or end, and in the first ten "
        "sessions also when memories are shown; `all` shows that always; `off` shows nothing.",
        former=Former("show_banner", "MEMEM_SHOW_BANNER", lambda text: "all" if switch(text) else "changes"),
    ),
    Option(
        "allow_reading",
        "MEMEM_ALLOW_READING",
        "1",
        switch,
        "Let Claude use the reading tools in the current project, and on general memories, without asking you.",
    ),
    Option(
        "tools",
        "MEMEM_TOOLS",
        "default",
        one_of("default", "full"),
        "Which tools the MCP server offers: the eight that matter, or all of them.",
    ),
    Option(
        "index_transcripts",
        "MEMEM_INDEX_TRANSCRIPTS",
        "1",
        switch,
        "Once mining is on: keep a full-text index of what was said in sessions, for `transcript_search`.",
    ),
    Option(
        "debug",
        "MEMEM_DEBUG",
        "0",
        switch,
        "Show the traceback of an unexpected error.",
    ),
)
