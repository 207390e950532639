"""Which modules change the disk by other ways than the file layer: each is known, and what it may do is little.

`tests/faults.py` wraps `os` and `sqlite3`, so it meets all of these but for files that Python opens by itself.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import memem

ROOT = Path(memem.__file__).parent
CHANGING = {"write_bytes", "write_text", "touch", "rename", "symlink_to", "hardlink_to", "rmtree", "copytree", "move"}
OPENING = {"open", "fdopen", "TemporaryFile", "NamedTemporaryFile"}
LAYER = {"core/files.py", "core/locks.py", "core/sqlite.py"}
KNOWN = {
    # marks whose being there, or whose time, is all that counts
    "search/encoders/model.py": {"touch", "write_bytes"},
    "inject/receipts.py": {"touch"},
    "upkeep/session_start.py": {"touch"},
    "inject/usefulness.py": {"touch"},
    "serving.py": {"touch"},  # a clock's, not a file's
    "core/data_files.py": {"write_bytes"},  # parsed tables, beside the byte code
    "core/processes.py": {"write_bytes"},  # the kernel's, to give way
    # what is thrown away, or moved as a whole
    "core/belongings.py": {"rmtree"},  # when memem is uninstalled
    "search/rebuild.py": {"rename", "rmtree"},
    "search/encoders/download.py": {"rmtree", "open", "touch"},  # weights, checked by their sha256
    "transfer/export_format.py": {"rename", "rmtree"},  # a folder takes another's place
    # logs of processes that nobody watches, and files without a name
    "core/background.py": {"open"},
    "model/claude.py": {"TemporaryFile"},
    # a link outside of the home, to memem's own command
    "upkeep/link.py": {"symlink_to"},
    # in a temporary folder
    "upkeep/checks/hooks.py": {"touch"},
}


def changes(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in CHANGING and not (name == "move" and isinstance(node.func, ast.Attribute) and _is_files(node.func)):
            yield name
        given = (*node.args, *(word.value for word in node.keywords))
        if name in OPENING and (any(map(_is_mode, given)) or name.endswith("TemporaryFile")):
            yield name


def _is_files(function: ast.Attribute) -> bool:
    return isinstance(function.value, ast.Name) and function.value.id == "files"


def _is_mode(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in ("w", "a", "wb", "ab", "r+b", "w+b", "x", "xb")


def test_every_other_disk_change_is_listed() -> None:
    found: dict[str, set[str]] = {}
    for path in ROOT.rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        did = set(changes(ast.parse(path.read_text(encoding="utf-8"))))
        if did and name not in LAYER and not name.startswith("doors/"):
            found[name] = did
    assert found == KNOWN
