"""Every place in memem that can put text into the vault or the index, found in its source.

A new one fails the tests that account for them: what was forgotten must not come back by it
(`tests/notes/test_forgotten_stays.py`), and it must go through the gate (`tests/safety/test_one_gate.py`).
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import memem

Imports = Mapping[str, str]

WRITING = {
    "vault.restore": {"put_back"},
    "notes.write": {"put", "keep", "edit", "revise", "edit_by_hand"},
    "notes.reconcile": {"settle"},
    "notes.save": {"save"},
    "notes.review": {"propose", "accept"},
    "notes.undo": {"undo"},
    "transfer.import_": {"import_notes"},
    "mine.apply": {"apply_all", "apply_one"},
    "pages.markdown": {"write_part"},
}
"""Functions that write notes, or lead to one that does, by module."""
OF_STORE = {"create", "rewrite"}
"""Methods of `ws.store` that write notes."""

FILES = {"write_atomic", "append_line", "write_at", "write_text", "write_bytes", "move", "rename", "copyfile", "copy2"}
"""Functions that write or move files."""


def writers() -> Iterator[str]:
    """Everything that uses what writes notes: a `module.function`, or a module by what stands outside of functions."""
    return _using(_writes_notes)


def file_writers(*folders: str) -> Iterator[str]:
    """Everything in these folders of memem that writes a file by itself."""
    return (name for name in _using(_writes_file) if name.startswith(folders))


def row_makers() -> Iterator[str]:
    """Everything that makes a row of the index of notes."""
    for module, tree in _modules():
        named = any(
            isinstance(part, ast.ImportFrom) and part.module == "memem.search.notes" for part in ast.walk(tree)
        ) or (module == "search.notes")
        for part in ast.walk(tree):
            if named and isinstance(part, ast.FunctionDef) and _calls(part, "NoteRow"):
                yield f"{module}.{part.name}"


@cache
def _modules() -> list[tuple[str, ast.Module]]:
    root = Path(memem.__file__).parent
    return [
        (".".join(path.relative_to(root).with_suffix("").parts), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(root.rglob("*.py"))
    ]


def _using(is_meant: Callable[[ast.Attribute | ast.Name, Imports], bool]) -> Iterator[str]:
    for module, tree in _modules():
        imports = _imports(tree)
        for part in ast.walk(tree):
            if isinstance(part, ast.FunctionDef) and _uses(part, imports, is_meant):
                yield f"{module}.{part.name}"
        outside = (part for part in tree.body if not isinstance(part, ast.FunctionDef | ast.ClassDef))
        if any(_uses(part, imports, is_meant) for part in outside):
            yield module


def _imports(tree: ast.Module) -> Imports:
    """Map each imported name to a module of memem or a symbol in one."""
    found = (part for part in ast.walk(tree) if isinstance(part, ast.ImportFrom) and part.module)
    return {each.asname or each.name: f"{part.module}.{each.name}" for part in found for each in part.names}


def _uses(part: ast.stmt, imports: Imports, is_meant: Callable[[ast.Attribute | ast.Name, Imports], bool]) -> bool:
    return any(isinstance(each, ast.Attribute | ast.Name) and is_meant(each, imports) for each in ast.walk(part))


def _calls(part: ast.FunctionDef, name: str) -> bool:
    calls = (each for each in ast.walk(part) if isinstance(each, ast.Call))
    return any(isinstance(each.func, ast.Name) and each.func.id == name for each in calls)


def _writes_file(used: ast.Attribute | ast.Name, _: Imports) -> bool:
    return isinstance(used, ast.Attribute) and used.attr in FILES


def _writes_notes(used: ast.Attribute | ast.Name, imports: Imports) -> bool:
    if isinstance(used, ast.Attribute) and isinstance(used.value, ast.Attribute) and used.value.attr == "store":
        return used.attr in OF_STORE
    if isinstance(used, ast.Attribute):
        full = f"{imports.get(getattr(used.value, 'id', ''), '')}.{used.attr}"
    else:
        full = imports.get(used.id, "")
    module, _, name = full.removeprefix("memem.").rpartition(".")
    return name in WRITING.get(module, ())
