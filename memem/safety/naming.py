"""Names of projects and branches, which a folder or a repository may set to anything. Imports nothing heavy."""

import re

from memem.core.project import normalise

# Prompts wait for this check: only a name with a part that may be generated is searched for secrets.
_GENERATED = re.compile(r"(?=[a-z_]*\d)\w{16,}")
MAX_WORD_SEPARATORS = 2  # in a name; with more it may be a sentence
HIDDEN_NAME = "(name withheld: it reads like an instruction)"


def clean_project_name(name: str) -> str:
    """Return the one spelling of a project's name, as its notes have it."""
    usual = normalise(name)
    if not _GENERATED.search(usual):
        return usual
    from memem.safety.credentials.redact import redact

    clean, kinds = redact(name)
    return normalise(clean) if kinds else usual


def display_name(name: str) -> str:
    """Return the name of a project or branch as a model may see it."""
    separators = name.count("-") + name.count("_")
    if separators <= MAX_WORD_SEPARATORS and (name.isascii() or len(name) < 2 * (MAX_WORD_SEPARATORS + 1)):
        return name
    from memem.safety.injection.judge import classify

    return HIDDEN_NAME if classify(name.replace("-", " ").replace("_", " ")) else name
