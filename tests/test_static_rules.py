"""Rules for every module of memem, checked by reading the source; exceptions are named here."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "memem"
MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))


@cache
def tree(module: str) -> ast.Module:
    return ast.parse((SOURCE / module).read_text(encoding="utf-8"))


@cache
def imports(module: str) -> frozenset[str]:
    """Every module that is imported, wherever in it."""
    return frozenset(_imports(module))


def _imports(module: str) -> Iterator[str]:
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


@cache
def named(module: str) -> set[str]:
    """Every name that is spelled with a dot, and every one that is called."""
    found = {ast.unparse(node) for node in ast.walk(tree(module)) if isinstance(node, ast.Attribute)}
    return found | {ast.unparse(node.func) for node in ast.walk(tree(module)) if isinstance(node, ast.Call)}


def who(*names: str) -> set[str]:
    """The modules that import one of these, or something in them."""
    return {
        module
        for module in MODULES
        if any(each == name or each.startswith(f"{name}.") for each in imports(module) for name in names)
    }


def uses(*names: str) -> set[str]:
    return {module for module in MODULES if named(module) & set(names)}


def test_no_data_becomes_code() -> None:
    assert who("pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "code", "runpy") == set()
    assert uses("eval", "exec", "compile", "__import__", "np.load", "numpy.load", "torch.load") == set()


def test_yaml_is_read_by_one_module_and_makes_no_objects() -> None:
    assert who("yaml") == {"vault/frontmatter.py"}
    of_yaml = {name for name in named("vault/frontmatter.py") if name.startswith("yaml.")}
    assert of_yaml == {"yaml.BaseLoader", "yaml.YAMLError", "yaml.compose", "yaml.parse"}


def test_json_and_toml_are_read_where_no_nesting_overflows_the_stack() -> None:
    assert uses("json.loads", "json.load", "tomllib.loads", "tomllib.load") == {
        "core/files.py",
        "doors/mcp/protocol.py",  # without the environment, with the same care
    }
    assert {module for module in MODULES if any("JSONDecoder" in name for name in named(module))} == {
        "transcript/objects.py",
    }


def test_no_command_is_a_shell_string() -> None:
    assert uses("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput") == set()
    calls = [node for module in MODULES for node in ast.walk(tree(module)) if isinstance(node, ast.Call)]
    assert not [each for each in calls if any(given.arg == "shell" for given in each.keywords)]


def test_only_these_modules_start_programs() -> None:
    assert who("subprocess", "multiprocessing", "pty") == {
        "core/background.py",  # memem itself
        "core/processes.py",  # ps, where the system tells of processes no other way
        "doors/cli/notes/edit.py",  # the user's editor
        "doors/mcp/waiting.py",  # bootstrap.sh, while there is no environment
        "model/claude.py",  # the user's claude
        "model/plugin.py",  # the same, to remove the plugin
        "upkeep/checks/hooks.py",  # the hooks, as Claude Code runs them
        "notes/repository.py",  # git
        "upkeep/session_start.py",  # bootstrap.sh, after an update
        "search/encoders/download.py",  # pip or uv, for the weights
    }
    assert uses("os.fork", "os.execv", "os.execve", "os.posix_spawn") == {
        "doors/hook/client.py",
        "doors/mcp/waiting.py",  # the environment's own Python
        "search/prescan.py",
    }


def test_the_network_is_used_for_the_weights_alone() -> None:
    assert who("urllib.request", "http", "ssl", "ftplib", "smtplib", "httpx", "requests", "aiohttp") == {
        "search/encoders/download.py"
    }
    assert who("memem.search.encoders.download") == {"search/encoders/model.py"}
    assert who("socket", "_socket", "socketserver") == {
        "doors/engine/election.py",
        "doors/engine/leader.py",
        "doors/engine/protocol.py",
        "doors/hook/client.py",
    }
    kinds = {name for module in MODULES for name in named(module) if re.search(r"socket\.AF_", name)}
    assert kinds == {"socket.AF_UNIX", "_socket.AF_UNIX"}


def test_downloads_count_only_with_the_published_checksum() -> None:
    fetched = {name for name in named("search/encoders/download.py") if name.startswith("weights.")}
    assert {"weights.problem_with", "weights.find", "weights.FILES"} <= fetched


def test_only_the_workspace_and_standalone_modules_read_the_environment() -> None:
    assert uses("os.environ", "os.getenv", "os.environb", "os.putenv") == {
        "workspace.py",
        "doors/hook/client.py",
        "doors/hook/statusline.py",
        "serve.py",
    }


def test_a_temporary_file_is_never_only_a_name() -> None:
    assert uses("tempfile.mktemp", "os.tempnam", "os.tmpnam") == set()


# --- SQL ----------------------------------------------------------------------------------------------------------

_SQL = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE|PRAGMA|WHERE|ORDER BY|CREATE|AND|OR|FROM) |\bIN \(")
# What stands in a statement beside fixed words: marks for values, columns and conditions that are constants of the
# module, tables that are named by us or, quoted, by the database itself. Never a value.
PARTS = {
    *("marks", "_MARKS", "', '.join('?' * len(place))", "', '.join('?' * len(lines))", "', '.join('?' * len(columns))"),
    *("', '.join('?' * len(scope.projects))", "', '.join(columns)", "', '.join(self.columns)", "self._bm25"),
    *("_COLUMNS", "_READING", "_SPOKEN", "_STATED", "_ENDING", "STATED", "ID8", "len(migrations)"),
    *("where", "conditions", "within.conditions", "within.join", "join", "holds", "held", "here", "kept", "itself"),
    *("side", "order", "than", "end", "other", "old", "_SUMS", "waits", "shows", "alone", "mine", "pattern", "query"),
    *("table", "name", "column", "change", "look", "ranges", "newest", "LOG_BYTES"),
    "'OFF' if purpose.soft else 'FULL' if durable else 'NORMAL'",
}


def parts_of(module: str) -> set[str]:
    """Yield the expressions interpolated into SQL."""
    texts = [node for node in ast.walk(tree(module)) if isinstance(node, ast.JoinedStr)]
    told = [node for node in texts if _SQL.search(_words(node))]
    return {ast.unparse(each.value) for node in told for each in node.values if isinstance(each, ast.FormattedValue)}


def _words(text: ast.JoinedStr) -> str:
    return "".join(str(each.value) for each in text.values if isinstance(each, ast.Constant))


OF_SQL = [module for module in MODULES if "execute" in (SOURCE / module).read_text(encoding="utf-8")]


@pytest.mark.parametrize("module", OF_SQL)
def test_values_are_bound_and_never_part_of_a_statement(module: str) -> None:
    assert parts_of(module) - PARTS == set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2].startswith("execute"):
            first = node.args[0] if node.args else None
            joined = isinstance(first, ast.BinOp) or (isinstance(first, ast.Call) and "format" in ast.unparse(first))
            assert not joined, f"{module}:{node.lineno} puts a statement together"


def test_the_rule_about_statements_would_find_one() -> None:
    found = ast.parse('connection.execute(f"SELECT * FROM notes WHERE id = {given}")')
    (text,) = [node for node in ast.walk(found) if isinstance(node, ast.JoinedStr)]
    assert _SQL.search(_words(text))
    assert "given" not in PARTS


# --- shell --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["hooks/memem", "bootstrap.sh"])
def test_no_script_evaluates_its_input(name: str) -> None:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    code = [line for line in lines if not line.lstrip().startswith("#")]
    assert not [line for line in code if re.search(r"(?:^|[;&|({\s])(?:eval|source|\.)\s", line) and "find" not in line]
