"""A check of the source: SQL statements consist of fixed texts and placeholders, and never contain a value.

Every first argument of `execute`, `executemany` and `executescript` is followed to where its text comes from: through
local variables, loops, constants, and parameters to the calls of the function. Texts that cannot be followed are
reported, unless `ALLOWED` names them at their place.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

SINKS = ("execute", "executemany", "executescript", "_execute", "_execute_many", "_fetch_one", "_fetch_all")
CONDITIONS = ("rows", "count_where")
"""Methods of the index whose first argument is a condition."""
PLACEHOLDERS = ("among",)
"""Functions whose first result consists of placeholders."""
BUILDERS = ("scope_conditions", "in_force")
"""Functions that return a condition and its values; their conditions are checked as well."""
ALLOWED = {
    ("core/sqlite.py", "connection.execute(FULL_TEXT_TABLES).fetchall()"): "our tables, as the file names them; quoted",
    ("core/sqlite.py", "columns"): "constants of `upkeep/scour.py`; quoted",
    ("core/sqlite.py", "rows_of"): "constants of `upkeep/scour.py`; quoted",
    ("search/fulltext.py", "rows"): "a query in `search/notes.py` and `search/transcripts/turns.py`",
    ("search/fulltext.py", "self.columns"): "constants NOTES and TURNS",
    ("search/fulltext.py", "self._bm25"): "weights of the same constants",
    ("search/fulltext.py", "rows.conditions"): "from `scope_conditions`, or a constant of `transcripts/turns.py`",
    ("search/fulltext.py", "rows.join"): "likewise",
    ("search/notes.py", "where"): "a condition; callers of `rows` and `count_where` are checked",
    ("search/notes.py", "', '.join(columns)"): "names of columns, the keys of a dict",
    ("search/transcripts/turns.py", "field.name"): "fields of our dataclass",
    ("state/tables.py", "statement"): "callers of `_execute` and `_execute_many` are checked",
    ("state/tables.py", "query"): "callers of `_fetch_one` and `_fetch_all` are checked",
    ("transfer/readers/claude_mem.py", "_tables(database)"): "keys of a constant; quoted",
}

Function = ast.FunctionDef | ast.Lambda
Scopes = tuple[Function, ...]


@dataclass
class Sources:
    """Parsed modules by path, with their functions and calls by name."""

    trees: Mapping[str, ast.Module]
    calls: dict[str, list[tuple[str, Scopes, ast.Call]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for module, tree in self.trees.items():
            self._collect(module, tree, ())

    def _collect(self, module: str, node: ast.AST, scopes: Scopes) -> None:
        for child in ast.iter_child_nodes(node):
            inner = scopes
            if isinstance(child, ast.FunctionDef | ast.Lambda):
                inner = (*scopes, child)
            elif isinstance(child, ast.Call):
                self.calls.setdefault(_last_name(child.func), []).append((module, scopes, child))
            self._collect(module, child, inner)

    def violations(self) -> list[str]:
        """Every text in a statement that is not fixed, as `module: text`."""
        return sorted(
            {
                f"{where}: {text}"
                for sink in (*SINKS, *CONDITIONS)
                for module, scopes, call in self.calls.get(sink, ())
                if call.args and _is_sink(call, sink)
                for where, text in _Check(self, set()).unfixed(call.args[0], module, scopes)
            }
        )


def _is_sink(call: ast.Call, name: str) -> bool:
    """Whether this is the method of that name: those of our own classes are told apart by their object."""
    is_of_sqlite = name.startswith("execute")
    return is_of_sqlite or ast.unparse(call.func).endswith((f"self.{name}", f"index.{name}"))


def _last_name(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


Violations = Iterator[tuple[str, str]]


@dataclass
class _Check:
    sources: Sources
    seen: set[tuple[str, str, int]]

    def unfixed(self, node: ast.expr, module: str, scopes: Scopes) -> Violations:
        """Yield the parts of a text that are not fixed."""
        if (module, ast.unparse(node)) in ALLOWED:
            return
        parts = _parts(node)
        if parts is not None:
            for part in parts:
                yield from self.unfixed(part, module, scopes)
        elif isinstance(node, ast.Call) and _last_name(node.func) in BUILDERS:
            yield from self._built(_last_name(node.func))
        elif isinstance(node, ast.Name):
            yield from self._named(node.id, node, module, scopes)
        elif isinstance(node, ast.Attribute) and node.attr.isupper():
            yield from self._constant(node.attr, module, node)
        else:
            yield module, ast.unparse(node)

    def _built(self, name: str) -> Violations:
        """The first results of a function that builds conditions."""
        for module, tree in self.sources.trees.items():
            for function in ast.walk(tree):
                if isinstance(function, ast.FunctionDef) and function.name == name:
                    results = [each.value for each in ast.walk(function) if isinstance(each, ast.Return)]
                    for result in results:
                        if isinstance(result, ast.Tuple):
                            yield from self.unfixed(result.elts[0], module, (function,))
                        elif not (isinstance(result, ast.Call) and _last_name(result.func) in BUILDERS):
                            yield module, f"the result of {name}"

    def _named(self, name: str, node: ast.Name, module: str, scopes: Scopes) -> Violations:
        for depth in range(len(scopes), 0, -1):
            scope, inner = scopes[depth - 1], scopes[:depth]
            bindings, is_parameter = list(_bindings(name, scope)), name in _parameters(scope)
            if not bindings and not is_parameter:
                continue
            if self._is_new(module, name, scope.lineno):
                for value, index in bindings:
                    yield from self._element(value, index, module, inner)
                if is_parameter:
                    yield from self._passed(name, scope, module)
            return
        if name.isupper() or name.startswith("_"):
            yield from self._constant(name, module, node)
        else:
            yield module, ast.unparse(node)

    def _element(self, value: ast.expr, index: int | None, module: str, scopes: Scopes) -> Violations:
        """A value that was assigned, or its element number `index` where several names were."""
        if isinstance(value, ast.Name) and index is not None:
            bindings = [each for scope in scopes for each in _bindings(value.id, scope)]
            for bound, _ in bindings:
                yield from self._element(bound, index, module, scopes)
            if not bindings:
                yield from self.unfixed(value, module, scopes)
            return
        if index is not None and isinstance(value, ast.Tuple | ast.List):
            rows = value.elts
            if all(isinstance(row, ast.Tuple) for row in rows) and rows:  # a loop over tuples
                for row in rows:
                    yield from self.unfixed(row.elts[index], module, scopes)  # type: ignore[attr-defined]
            else:
                yield from self.unfixed(rows[index], module, scopes)
        elif index is not None and isinstance(value, ast.ListComp) and isinstance(value.elt, ast.Tuple):
            yield from self.unfixed(value.elt.elts[index], module, scopes)
        elif not (index == 0 and isinstance(value, ast.Call) and _last_name(value.func) in PLACEHOLDERS):
            yield from self.unfixed(value, module, scopes)

    def _passed(self, name: str, scope: Function, module: str) -> Violations:
        """The arguments that callers pass for a parameter, and its default."""
        if isinstance(scope, ast.Lambda):
            yield module, name
            return
        if not scope.name.startswith("_"):
            yield module, f"{name} of {scope.name}"
            return
        parameters = _parameters(scope)
        index = parameters.index(name) - (parameters[0] in ("self", "cls"))
        defaults = dict(zip(reversed(parameters), reversed(scope.args.defaults), strict=False))
        for place, scopes, call in self.sources.calls.get(scope.name, ()):
            if place != module:
                continue
            given = [each.value for each in call.keywords if each.arg == name] or call.args[index : index + 1]
            if not given and name in defaults:
                continue
            if any(isinstance(each, ast.Starred) for each in call.args[: index + 1]):
                yield place, ast.unparse(call)
            for value in given:
                yield from self.unfixed(value, place, scopes)

    def _constant(self, name: str, module: str, node: ast.expr) -> Violations:
        """A constant of this module or class, or of any module if it has none."""
        trees = self.sources.trees
        is_own = any(_constants(name, trees[module]))
        values = [
            (place, value) for place in ([module] if is_own else trees) for value in _constants(name, trees[place])
        ]
        if not values:
            yield module, ast.unparse(node)
        for place, value in values:
            if self._is_new(place, name, value.lineno):
                yield from self.unfixed(value, place, ())

    def _is_new(self, module: str, name: str, line: int) -> bool:
        key = (module, name, line)
        is_new = key not in self.seen
        self.seen.add(key)
        return is_new


def _parts(node: ast.expr) -> Sequence[ast.expr] | None:
    """The texts that a text is put together from; None if it is not put together."""
    match node:
        case ast.Constant() | ast.Call(func=ast.Name(id="len")):
            return ()
        case ast.JoinedStr(values=parts) | ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
            return parts
        case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
            return left, right
        case ast.FormattedValue(value=value) | ast.GeneratorExp(elt=value) | ast.ListComp(elt=value):
            return (value,)
        case ast.Call(func=ast.Attribute(attr="join" | "format", value=text), args=parts):
            return text, *parts
        case _:
            return None


def _constants(name: str, tree: ast.Module) -> list[ast.expr]:
    """The values of a constant of a module or of a class in it."""
    bodies = (tree.body, *(each.body for each in tree.body if isinstance(each, ast.ClassDef)))
    return [value for body in bodies for each in body for value, _ in _assigned(name, each)]


def _parameters(scope: Function) -> list[str]:
    arguments = scope.args
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _bindings(name: str, scope: Function) -> Iterator[tuple[ast.expr, int | None]]:
    """Every value that is bound to a local name: assigned, looped over, or put into a list of that name."""
    for node in ast.walk(scope):
        yield from _assigned(name, node)
        match node:
            case ast.For(target=target, iter=values) | ast.comprehension(target=target, iter=values):
                yield from _unpacked(name, target, values)
            case ast.Call(func=ast.Attribute(attr="append" | "extend" | "insert", value=ast.Name(id=owner)), args=args):
                if owner == name:
                    yield args[-1], None


def _assigned(name: str, node: ast.AST) -> Iterator[tuple[ast.expr, int | None]]:
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _unpacked(name, target, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.AugAssign(target=target, value=value):
            yield from _unpacked(name, target, value)
        case ast.NamedExpr(target=target, value=value):
            yield from _unpacked(name, target, value)


def _unpacked(name: str, target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, int | None]]:
    match target:
        case ast.Name(id=bound) if bound == name:
            yield value, None
        case ast.Tuple(elts=elements):
            for index, element in enumerate(elements):
                if isinstance(element, ast.Name) and element.id == name:
                    yield value, index
