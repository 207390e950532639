"""Read the tables of words and patterns that are shipped as TOML files next to the modules that use them."""

from functools import cache
from pathlib import Path
from typing import Any

from memem.core.files import from_toml


@cache
def load_table(module_file: str, name: str) -> dict[str, Any]:
    """Read `name`, a TOML file in the folder of the module whose `__file__` is given."""
    return from_toml(Path(module_file).with_name(name).read_text(encoding="utf-8"))
