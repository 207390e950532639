"""What went wrong, as it may be told: what doors say aside is a line of a log when nobody watches, and may quote a
setting, a path or what was asked."""

from memem.gate.verdict import clean_line


def safely(what: str) -> str:
    """The same in one line, without secrets."""
    return clean_line(what)
