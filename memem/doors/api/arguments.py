"""What Python gives us, checked where it comes in: whoever gives something else is told so in our words."""

from collections.abc import Iterable

from memem.core.errors import InputError


def text_of(value: object, name: str) -> str:
    """The value, if it is text."""
    if not isinstance(value, str):
        raise InputError(f"The {name} should be text, not {type(value).__name__}.")
    return value


def several(values: Iterable[str]) -> tuple[str, ...]:
    """The values, if they are texts."""
    if isinstance(values, str):
        raise InputError(f"A list of texts is wanted, not the single text {values[:40]!r}.")
    return tuple(text_of(value, "item") for value in values)
