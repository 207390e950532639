"""Read the tables of words and patterns that are shipped as TOML files next to the modules that use them."""

import marshal
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from memem.core.files import from_toml


@cache
def load_table(module_file: str, name: str) -> dict[str, Any]:
    """Read `name`, a TOML file in the folder of the module whose `__file__` is given.

    Parsing TOML takes milliseconds that a hook would have to wait for: like byte code, the table is cached in
    `__pycache__` until its file changes.
    """
    source = Path(module_file).with_name(name)
    status = source.stat()
    version = (status.st_mtime_ns, status.st_size)
    cached = source.parent / "__pycache__" / f"{name}.{sys.implementation.cache_tag}"
    with suppress(OSError, ValueError, EOFError, TypeError):
        cached_version, table = marshal.loads(cached.read_bytes())  # noqa: S302 - as trusted as the byte code beside it
        if cached_version == version:
            return dict(table)
    table = from_toml(source.read_text(encoding="utf-8"))
    if not sys.dont_write_bytecode:
        temporary = cached.with_suffix(f".{os.getpid()}")
        with suppress(OSError, ValueError):  # a date cannot be cached
            temporary.write_bytes(marshal.dumps((version, table)))
            temporary.replace(cached)
    return table
