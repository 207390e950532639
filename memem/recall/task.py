"""What kind of work a prompt asks for, from its verbs."""

import re

_VERBS = (
    (
        "debug",
        "debug fix fail fails failing failed broken crash crashes error bug traceback investigate diagnose why",
    ),
    ("review", "review audit critique inspect"),
    ("test", "test tests coverage pytest"),
    ("refactor", "refactor rename restructure simplify clean cleanup extract dedupe"),
    ("deploy", "deploy release ship publish rollout rollback"),
    ("document", "document docs readme changelog"),
    ("plan", "plan design propose architect estimate"),
    ("explain", "explain describe summarise summarize understand how what where which"),
    ("build", "add build implement create write make continue finish support introduce"),
)
GENERAL_MODE = "general"


def infer(prompt: str) -> str:
    """The mode of the earliest verb that names one."""
    modes = {verb: mode for mode, verbs in reversed(_VERBS) for verb in verbs.split()}
    for word in re.findall(r"[a-z]+", prompt[:2_000].lower()):
        if word in modes:
            return modes[word]
    return GENERAL_MODE
