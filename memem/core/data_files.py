"""Tables of words and patterns, shipped as TOML files next to the modules that use them."""

import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from memem.core.files import from_json, from_toml


@cache
def load_table(module_file: str, name: str) -> dict[str, Any]:
    """Read `name`, a TOML file in the folder of the module whose `__file__` is given."""
    # Parsing takes milliseconds, for which hooks would wait: the table is cached as JSON, like byte code.
    source = Path(module_file).with_name(name)
    status = source.stat()
    version = [status.st_mtime_ns, status.st_size]
    cached = source.parent / "__pycache__" / f"{name}.json"
    with suppress(OSError, ValueError, TypeError, KeyError):
        stored = from_json(cached.read_bytes())
        if stored["version"] == version:
            return dict(stored["table"])
    table = from_toml(source.read_text(encoding="utf-8"))
    if not sys.dont_write_bytecode:
        temporary = cached.with_suffix(f".{os.getpid()}")
        with suppress(OSError, TypeError):  # TypeError: a date is not JSON
            temporary.write_bytes(json.dumps({"version": version, "table": table}).encode())
            temporary.replace(cached)
    return table


def expand(pattern: str, fragments: Mapping[str, str]) -> str:
    """Join the lines of a pattern, and insert a fragment for each `{NAME}`."""
    for name, fragment in fragments.items():
        pattern = pattern.replace(f"{{{name}}}", fragment)
    return pattern.replace("\n", "")


class Patterns(dict[str, re.Pattern[str]]):
    """The table `[patterns]` of a TOML file; each is compiled when it is first needed."""

    def __init__(self, module_file: str, name: str) -> None:
        super().__init__()
        self._source = module_file, name

    def __missing__(self, key: str) -> re.Pattern[str]:
        table = load_table(*self._source)
        self[key] = re.compile(expand(table["patterns"][key], table.get("fragments", {})))
        return self[key]
