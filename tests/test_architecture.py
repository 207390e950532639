"""The map and the tours of `docs/architecture.md` match the code, and packages keep to the rules written there."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "memem"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
NAMED = [module for module in MODULES if not module.endswith("__init__.py")]
BELOW_WORKSPACE = (
    *("core", "state", "transcript", "safety", "compare", "vault", "search"),
    *("model", "notes", "pages", "inject", "mine", "transfer", "upkeep"),
)
CAPABILITIES = [module for module in MODULES if module.partition("/")[0] in BELOW_WORKSPACE]
MAX_MODULES_PER_FOLDER = 20
MAX_STEPS = {"Stop to note": 45, "Prompt to slice": 30, "`memem save`": 18, "`memory_search`": 18}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree(module: str) -> ast.Module:
    return ast.parse((SOURCE / module).read_text(encoding="utf-8"))


def section(heading: str, level: str = "##") -> str:
    start = PAGE.index(f"\n{level} {heading}\n")
    return re.split(rf"\n#{{2,{len(level)}}} ", PAGE[start + 1 :].partition("\n")[2])[0]


# --- the map ------------------------------------------------------------------------------------------------------


def test_the_map_names_every_module_and_no_other() -> None:
    rows = [line.strip("|").split("|") for line in section("The map").splitlines() if line.startswith("| `")]
    on_map: list[str] = []
    for place, _, inside in rows:
        (name,) = re.findall(r"`([^`]+)`", place)
        on_map += [f"{name}{module}" for module in re.findall(r"`(\w+\.py)`", inside)] if name[-1] == "/" else [name]
    assert sorted(on_map) == NAMED


def test_the_map_lists_packages_in_the_order_of_the_import_contract() -> None:
    contract = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("layers = [")[2].partition("]")[0]
    order = list(reversed(re.findall(r'"(\w+)"', contract)))
    rows = re.findall(r"^\| `(\w+)", section("The map"), re.MULTILINE)
    assert list(dict.fromkeys(rows)) == order
    (told,) = re.findall(r"\*\*Order\.\*\* (.*?)\. ", section("The rules"), re.DOTALL)
    assert re.findall(r"`(\w+)`", told) == order
    assert list(BELOW_WORKSPACE) == order[: order.index("workspace")]


def test_no_folder_holds_too_many_modules() -> None:
    counts = Counter(module.rpartition("/")[0] for module in NAMED)
    assert {folder: count for folder, count in counts.items() if count > MAX_MODULES_PER_FOLDER} == {}


# --- the tours ----------------------------------------------------------------------------------------------------


def defined_in(module: str) -> set[str]:
    """Its functions, as `function` and `Class.method`."""
    found = {node.name for node in tree(module).body if isinstance(node, Function)}
    for node in tree(module).body:
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, Function)}
    return found


@pytest.mark.parametrize("tour", MAX_STEPS)
def test_a_tour_is_short_and_each_step_names_a_function(tour: str) -> None:
    lines = section(tour, "###").strip().splitlines()
    steps = [line for line in lines if re.match(r"\d+\. ", line)]
    assert [int(step.partition(".")[0]) for step in steps] == list(range(1, len(steps) + 1))
    assert 10 <= len(steps) <= MAX_STEPS[tour]
    for step in steps:
        assert re.match(r"\d+\. `[\w/]+\.py:[\w.]+` ", step), step


def test_every_function_the_page_names_exists() -> None:
    named = re.findall(r"`([\w/]+\.py):([\w.]+)`", PAGE)
    assert [f"{module}:{name}" for module, name in named if name not in defined_in(module)] == []


def test_every_module_the_page_names_by_its_path_exists() -> None:
    named = {name for name in re.findall(r"`([\w/]+/\w+\.py)[`:]", PAGE) if not name.startswith(("tests/", "memem/"))}
    assert named - set(MODULES) == set()


# --- parts and actions --------------------------------------------------------------------------------------------


def mentions_workspace(module: str) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id == "Workspace")
        or (isinstance(node, ast.alias) and node.name == "Workspace")
        or (isinstance(node, ast.Attribute) and node.attr == "Workspace")
        for node in ast.walk(tree(module))
    )


ACTIONS = frozenset(module for module in CAPABILITIES if mentions_workspace(module))
PARTS = frozenset(CAPABILITIES) - ACTIONS


def at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only type checkers read."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for other in child.orelse:
                yield from at_run_time(other)
        else:
            yield from at_run_time(child)


def imports(module: str) -> set[str]:
    """The modules of memem that a module imports when it runs, wherever in it."""
    names: set[str] = set()
    for node in at_run_time(tree(module)):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    paths = {name.removeprefix("memem.").replace(".", "/") for name in names if name.startswith("memem.")}
    return {place for path in paths for place in (f"{path}.py", f"{path}/__init__.py") if place in MODULES}


def misplaced_workspaces(module: str) -> list[str]:
    """Functions that take the workspace, but not as their first parameter, or not as `ws`."""
    found = []
    for function in (node for node in ast.walk(tree(module)) if isinstance(node, Function)):
        given = function.args
        places = [each for each in (*given.posonlyargs, *given.args) if each.arg != "self"]
        for parameter in (*places, *given.kwonlyargs):
            annotation = ast.unparse(parameter.annotation) if parameter.annotation else ""
            is_workspace = re.search(r"\bWorkspace\b", annotation) and "Callable" not in annotation
            if is_workspace and (parameter.arg != "ws" or not places or places[0] is not parameter):
                found.append(f"{function.name}({parameter.arg})")
    return found


def test_there_are_parts_and_actions() -> None:
    assert {"notes/save.py", "search/find.py", "mine/session.py", "upkeep/purge.py"} <= ACTIONS
    assert {"vault/note.py", "compare/statements.py", "search/ranking.py", "state/journal.py"} <= PARTS


def test_the_workspace_is_imported_for_type_checkers_only() -> None:
    assert [module for module in CAPABILITIES if "workspace.py" in imports(module)] == []


def test_an_action_takes_the_workspace_first_and_calls_it_ws() -> None:
    assert {module: wrong for module in sorted(ACTIONS) if (wrong := misplaced_workspaces(module))} == {}


def test_a_part_imports_no_action() -> None:
    assert {module: wrong for module in sorted(PARTS) if (wrong := imports(module) & ACTIONS)} == {}


def test_the_workspace_imports_no_action() -> None:
    assert imports("workspace.py") & ACTIONS == set()


# --- starting memem -----------------------------------------------------------------------------------------------

STARTERS = {
    "core/background.py",
    "doors/hook/client.py",  # before anything can be imported
    "doors/mcp/backends.py",  # the real server, in place of this one, once the environment exists
}
INTERPRETER_USERS = {
    "core/background.py",
    "doors/hook/client.py",
    "inject/notices.py",  # the environment's folder, where bootstrap.sh leaves a marker
    "search/encoders/download.py",  # pip
    "upkeep/checks/machine.py",  # shows which one it is
}


def texts(module: str) -> list[str]:
    return [
        node.value for node in ast.walk(tree(module)) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def runs_as_module(module: str) -> bool:
    """Whether a command in it reads `-m memem`."""
    commands = [node.elts for node in ast.walk(tree(module)) if isinstance(node, ast.List | ast.Tuple)]
    return any("'-m', 'memem'" in ", ".join(map(ast.unparse, parts)) for parts in commands)


def attributes(module: str) -> set[str]:
    return {ast.unparse(node) for node in ast.walk(tree(module)) if isinstance(node, ast.Attribute)}


def test_entry_points_are_started_by_these_alone() -> None:
    entry_point = re.compile(r"(?:^|.*/)(?:__main__|serve|serving)\.py")
    assert {module for module in MODULES if any(map(entry_point.fullmatch, texts(module)))} == STARTERS
    assert {module for module in MODULES if runs_as_module(module)} == set()


def test_the_interpreter_is_used_by_these_alone() -> None:
    assert {module for module in MODULES if "sys.executable" in attributes(module)} == INTERPRETER_USERS
    assert {module for module in MODULES if attributes(module) & {"os.execv", "os.execve"}} <= STARTERS


def test_the_main_file_is_known_to_the_starter_alone() -> None:
    users = {module for module in MODULES if re.search(r"\bMAIN_FILE\b", (SOURCE / module).read_text(encoding="utf-8"))}
    assert users == {"core/background.py"}
