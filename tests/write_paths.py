"""Every place in memem that can put text into the vault or the index, found in its source.

A new one fails the tests that account for them: what was forgotten must not come back by it
(`tests/flows/test_forgotten_stays.py`), and it must go through the gate (`tests/flows/test_one_gate.py`).
"""

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import memem

WRITING = {
    "store": {"create", "rewrite"},
    "restoring": {"put_back"},
    "keeping": {"put", "keep"},
    "editing": {"edit", "revise", "revise_same", "edit_by_hand"},
    "reconcile": {"settle"},
    "remember": {"save"},
    "reviewing": {"propose", "accept"},
    "undoing": {"undo"},
    "importing": {"import_notes"},
    "applying": {"apply_all", "apply_one"},
    "pages": {"write"},
}
"""What writes notes, or leads to what does, by module."""

FILES = {"write_atomic", "append_line", "write_at", "write_text", "write_bytes", "move", "rename", "copyfile", "copy2"}
"""What writes or moves files at all."""


def writers() -> Iterator[str]:
    """Everything that uses what writes notes: a `module.function`, or a module by what stands outside of functions."""
    return _using(_writes_notes)


def file_writers(*folders: str) -> Iterator[str]:
    """Everything in these folders of memem that writes a file by itself."""
    return (name for name in _using(lambda used: used.attr in FILES) if name.startswith(folders))


def row_makers() -> Iterator[str]:
    """Everything that makes a row of the index of notes."""
    for module, tree in _modules():
        named = any(
            isinstance(part, ast.ImportFrom) and part.module == "memem.index.notes" for part in ast.walk(tree)
        ) or (module == "index.notes")
        for part in ast.walk(tree):
            if named and isinstance(part, ast.FunctionDef) and _calls(part, "Row"):
                yield f"{module}.{part.name}"


@cache
def _modules() -> list[tuple[str, ast.Module]]:
    root = Path(memem.__file__).parent
    return [
        (".".join(path.relative_to(root).with_suffix("").parts), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(root.rglob("*.py"))
    ]


def _using(is_meant: Callable[[ast.Attribute], bool]) -> Iterator[str]:
    for module, tree in _modules():
        for part in ast.walk(tree):
            if isinstance(part, ast.FunctionDef) and _uses(part, is_meant):
                yield f"{module}.{part.name}"
        outside = (part for part in tree.body if not isinstance(part, ast.FunctionDef | ast.ClassDef))
        if any(_uses(part, is_meant) for part in outside):
            yield module


def _uses(part: ast.stmt, is_meant: Callable[[ast.Attribute], bool]) -> bool:
    return any(isinstance(each, ast.Attribute) and is_meant(each) for each in ast.walk(part))


def _calls(part: ast.FunctionDef, name: str) -> bool:
    calls = (each for each in ast.walk(part) if isinstance(each, ast.Call))
    return any(isinstance(each.func, ast.Name) and each.func.id == name for each in calls)


def _writes_notes(used: ast.Attribute) -> bool:
    owner = used.value
    name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return used.attr in WRITING.get(name, ())
