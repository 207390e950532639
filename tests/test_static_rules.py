"""Rules for every module of memem, checked by reading the source; exceptions are named here."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.sql_check import Sources

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
        "doors/cli/edit.py",  # the user's editor
        "doors/mcp/backends.py",  # bootstrap.sh, while there is no environment
        "model/claude.py",  # the user's claude
        "model/plugin.py",  # the same, to remove the plugin
        "upkeep/checks/hooks.py",  # the hooks, as Claude Code runs them
        "notes/repository.py",  # git
        "upkeep/session_start.py",  # bootstrap.sh, after an update
        "search/encoders/download.py",  # pip or uv, for the weights
    }
    assert uses("os.fork", "os.execv", "os.execve", "os.posix_spawn") == {
        "doors/hook/client.py",
        "doors/mcp/backends.py",  # the environment's own Python
        "search/refresh.py",
    }


def test_the_network_is_used_for_the_weights_and_the_model_url_alone() -> None:
    assert who("urllib.request", "http", "ssl", "ftplib", "smtplib", "httpx", "requests", "aiohttp") == {
        "model/connection.py",  # the server at MEMEM_MODEL_URL
        "search/encoders/download.py",
    }
    assert who("memem.search.encoders.download") == {"search/encoders/model.py"}
    assert who("memem.model.connection") == {"model/endpoint.py"}
    assert {module for module in MODULES if "Endpoint" in named(module)} == {"workspace.py"}
    assert uses("ws.endpoint", "self.endpoint") == {"workspace.py", "upkeep/checks/endpoint.py"}
    assert uses("Server") == {"model/endpoint.py"}
    assert who("socket", "_socket", "socketserver") == {
        "doors/engine/election.py",
        "doors/engine/protocol.py",
        "doors/hook/client.py",
        "model/connection.py",  # only ends a connection
    }
    assert {name for name in named("model/connection.py") if name.startswith("socket.")} == {
        "socket.SHUT_RDWR",
        "socket.socket",  # a type
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


def test_values_are_bound_and_never_part_of_a_statement() -> None:
    assert Sources({module: tree(module) for module in MODULES}).violations() == []


@pytest.mark.parametrize(
    "name", ["name", "where", "marks", "query", "table", "column", "held", "rows", "columns", "NAME", "_name"]
)
@pytest.mark.parametrize(
    "body",
    [
        """connection.execute(f"SELECT * FROM notes WHERE title = '{NAME}'")""",
        """statement = f"SELECT * FROM notes WHERE title = '{NAME}'"\n    connection.execute(statement)""",
        """query = "SELECT * FROM notes"\n    query += " WHERE title = '" + NAME\n    connection.execute(query)""",
        """connection.executemany("DELETE FROM notes WHERE title = '%s'" % NAME, [])""",
        """connection.executescript("DELETE FROM notes WHERE title = '{}'".format(NAME))""",
        """connection.execute(" AND ".join(["SELECT 1", NAME]))""",
        """parts = ["SELECT 1"]\n    parts.append(NAME)\n    connection.execute(" AND ".join(parts))""",
        """connection.execute(_statement(NAME))""",
        """_run(connection, f"title = '{NAME}'")""",
        """ws.index.rows(f"title = '{NAME}'")""",
        """self._execute(f"SELECT * FROM notes WHERE title = '{NAME}'")""",
    ],
)
def test_a_value_in_a_statement_is_reported_whatever_its_name(name: str, body: str) -> None:
    source = f"""
def _statement(text): return "SELECT " + text
def _run(connection, where): connection.execute(f"SELECT * FROM notes WHERE {{where}}")
def read(connection, ws, {name}):
    {body.replace("NAME", name)}
"""  # noqa: S608 - nothing runs it
    assert Sources({"new.py": ast.parse(source)}).violations()


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("core/sqlite.py", ("table", "columns", "rows_of", "change", "column", "purpose.name")),
        ("search/fulltext.py", ("rows", "rows.join", "rows.conditions", "self.columns", "self._bm25", "marks", "some")),
        ("search/notes.py", ("where", "columns", "conditions", "query", "row.path", "', '.join(columns)")),
        ("search/transcripts/turns.py", ("field.name", "than", "order")),
        ("state/tables.py", ("statement", "query", "values")),
        ("transfer/readers/claude_mem.py", ("table", "row")),
    ],
)
def test_a_value_is_reported_in_modules_with_dynamic_statements(module: str, names: tuple[str, ...]) -> None:
    modules = {other: tree(other) for other in MODULES}
    source = (SOURCE / module).read_text(encoding="utf-8")
    for number, name in enumerate(names):
        parameter = re.findall(r"\w+", name)[-1 if "join(" in name else 0]
        statement = f"""connection.execute(f"SELECT * FROM notes WHERE title = '{{{name}}}'")"""  # noqa: S608
        source += f"\n\ndef leak_{number}(connection, {parameter}):\n    {statement}\n"
    violations = Sources({**modules, module: ast.parse(source)}).violations()
    assert len(violations) == len(names), violations
    assert all(violation.startswith(f"{module}: ") for violation in violations)


def test_fixed_texts_and_placeholders_are_accepted() -> None:
    source = """
_COLUMNS = "id, title"
def read(connection, ids, newest):
    where = ["status = ?"]
    where.append(f"id IN ({', '.join('?' * len(ids))})")
    order = "DESC" if newest else "ASC"
    query = f"SELECT {_COLUMNS} FROM notes WHERE {' AND '.join(where)} ORDER BY id {order}"
    return connection.execute(query, ids)
"""
    assert Sources({"new.py": ast.parse(source)}).violations() == []


# --- shell --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["hooks/memem", "bootstrap.sh"])
def test_no_script_evaluates_its_input(name: str) -> None:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    code = [line for line in lines if not line.lstrip().startswith("#")]
    assert not [line for line in code if re.search(r"(?:^|[;&|({\s])(?:eval|source|\.)\s", line) and "find" not in line]
