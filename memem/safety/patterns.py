"""Patterns in TOML files next to the modules that use them, each compiled when it is first needed."""

import re
from collections.abc import Mapping

from memem.core.data_files import load_table


def expand(pattern: str, fragments: Mapping[str, str]) -> str:
    """Join the lines of a pattern, and insert a fragment for each `{NAME}`."""
    for name, fragment in fragments.items():
        pattern = pattern.replace(f"{{{name}}}", fragment)
    return pattern.replace("\n", "")


class Patterns(dict[str, re.Pattern[str]]):
    """The table `[patterns]` of a TOML file."""

    def __init__(self, module_file: str, name: str) -> None:
        super().__init__()
        self._source = module_file, name

    def __missing__(self, key: str) -> re.Pattern[str]:
        table = load_table(*self._source)
        self[key] = re.compile(expand(table["patterns"][key], table.get("fragments", {})))
        return self[key]
