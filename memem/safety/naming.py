"""The names of projects, which folders give: a secret in one is not spelled, and nothing heavy is loaded to see it."""

import re

from memem.core.project import normalise

# What no name of a folder usually holds, and a secret may: only then the gate looks at it, since prompts wait for this.
_MADE = re.compile(r"(?=[a-z_]*\d)\w{16,}")


def project_named(name: str) -> str:
    """The one spelling of a project's name, as its notes have it."""
    usual = normalise(name)
    if not _MADE.search(usual):
        return usual
    from memem.safety.credentials.redact import redact

    clean, kinds = redact(name)
    return normalise(clean) if kinds else usual


WORDY = 3
"""Words of a name beyond which it may be a sentence."""
UNSPOKEN = "one whose name reads like an instruction"


def shown(name: str) -> str:
    """The name of a project or a branch as a model is told it: a folder, or a repository, may call it anything."""
    if name.count("-") + name.count("_") < WORDY and (name.isascii() or len(name) < 2 * WORDY):
        return name
    from memem.safety.injection.judge import kind

    return UNSPOKEN if kind(name.replace("-", " ").replace("_", " ")) else name
