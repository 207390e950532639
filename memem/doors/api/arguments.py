"""Checks of arguments given by Python callers."""

from collections.abc import Iterable

from memem.core.errors import InputError


def check_texts(**values: str) -> None:
    """Raise InputError for the first value that is not text."""
    for name, value in values.items():
        if not isinstance(value, str):
            raise InputError(f"The {name} must be text, not {type(value).__name__}.")


def check_optional(**values: str | None) -> None:
    """Like `check_texts`, for values that may be None."""
    check_texts(**{name: value for name, value in values.items() if value is not None})


def read_texts(values: Iterable[str]) -> tuple[str, ...]:
    """Return the values as a tuple. Raises InputError unless they are several texts."""
    if isinstance(values, str):
        raise InputError(f"Pass a list of strings, not the single string {values[:40]!r}.")
    texts = tuple(values)
    for text in texts:
        check_texts(item=text)
    return texts
