"""JSON and TOML of whoever wrote it, read without surprises: what cannot be read is a ValueError, and nothing else.

Python's own readers also overflow the stack over a text that is nested deep enough.
"""

from typing import Any

_TOO_DEEP = "it is nested too deep"


def from_json(data: str | bytes) -> Any:
    """What a text of JSON says. Raises ValueError."""
    import json  # most of those who have this module at hand find nothing to read

    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def from_toml(text: str) -> dict[str, Any]:
    """What a text of TOML says. Raises ValueError, which says what is wrong with it."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
