"""A check of the source: SQL statements consist of fixed texts and placeholders, and never contain a value.

Every text given to `execute`, `executemany` and `executescript` is followed to its source: through local variables,
loops, constants, results of private functions, and parameters to the calls of the function. A text that cannot be
followed is reported, whatever its name.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

SQLITE = ("execute", "executemany", "executescript")
PASSED_ON = {
    ("core/sqlite.py", "erase_texts"): {"columns": 3, "rows_of": 4},
    ("search/fulltext.py", "check_words"): {"rows": 1},
    ("search/notes.py", "rows"): {"where": 0},
    ("search/notes.py", "count_where"): {"where": 0},
    ("state/tables.py", "_execute"): {"statement": 0},
    ("state/tables.py", "_execute_many"): {"statement": 0},
    ("state/tables.py", "_fetch_one"): {"query": 0},
}  # parameters that become part of a statement, with their position: every call is checked like one of `execute`
FIELDS = {
    "RowFilter": {"join": 0, "conditions": 1},
    "FullText": {"columns": 0, "weights": 1},
}  # likewise the fields of a class: every call of its constructor is checked
PLACEHOLDERS = ("split_values",)  # functions whose first result consists of placeholders
BUILDERS = ("scope_conditions", "in_force")  # functions that return a condition, which is checked, and its values

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
        sinks = {name: {"": 0} for name in SQLITE} | {name: positions for (_, name), positions in PASSED_ON.items()}
        return sorted(
            {
                f"{where}: {text}"
                for sink, positions in (sinks | FIELDS).items()
                for module, scopes, call in self.calls.get(sink, ())
                for name, position in positions.items()
                for argument in _given(call, name, position)
                for where, text in _Check(self, set()).unfixed(argument, module, scopes)
            }
        )

    def functions(self, module: str, name: str) -> list[ast.FunctionDef]:
        nodes = ast.walk(self.trees[module])
        return [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == name]


def _given(call: ast.Call, name: str, position: int) -> list[ast.expr]:
    """The argument for a parameter; all arguments if some are unpacked before it."""
    by_name = [keyword.value for keyword in call.keywords if keyword.arg in (name, None)]
    before = call.args[: position + 1]
    unpacked = [argument for argument in before if isinstance(argument, ast.Starred)]
    return by_name + (unpacked or before[position:])


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
        parts = _parts(node)
        if parts is not None:
            for part in parts:
                yield from self.unfixed(part, module, scopes)
        elif isinstance(node, ast.Call) and _last_name(node.func) in BUILDERS:
            yield from self._built(_last_name(node.func))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.startswith("_"):
            yield from self._returned(node.func.id, node, module)
        elif isinstance(node, ast.Name):
            yield from self._named(node.id, node, module, scopes)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and scopes:
            yield from self._field(node, node.value.id, module, scopes[-1])
        else:
            yield module, ast.unparse(node)

    def _returned(self, name: str, node: ast.expr, module: str) -> Violations:
        """The results of a function or property of this module."""
        functions = self.sources.functions(module, name)
        if not functions:
            yield module, ast.unparse(node)
        for function in functions:
            if self._is_new(module, name, function.lineno):
                for result in ast.walk(function):
                    if isinstance(result, ast.Return) and result.value:
                        yield from self.unfixed(result.value, module, (function,))

    def _field(self, node: ast.Attribute, owner: str, module: str, scope: Function) -> Violations:
        """A constant of a module or class, or a field or property of a class in `FIELDS`."""
        if node.attr.isupper():
            yield from self._constant(node.attr, module, node)
        elif self._class_of(owner, module, scope) not in FIELDS or any(_bindings(owner, scope)):
            yield module, ast.unparse(node)
        elif node.attr not in FIELDS[self._class_of(owner, module, scope)]:
            yield from self._returned(node.attr, node, module)

    def _class_of(self, owner: str, module: str, scope: Function) -> str:
        """The class of a parameter: its annotation, or for `self` the class of the method."""
        if owner == "self":
            classes = [node for node in ast.walk(self.sources.trees[module]) if isinstance(node, ast.ClassDef)]
            return next((each.name for each in classes if scope in each.body), "")
        annotations = [each.annotation for each in scope.args.args if each.arg == owner]
        return ast.unparse(annotations[0]) if annotations and annotations[0] else ""

    def _built(self, name: str) -> Violations:
        """The first results of a function that builds conditions."""
        for module in self.sources.trees:
            for function in self.sources.functions(module, name):
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
        """The arguments that callers pass for a parameter."""
        if isinstance(scope, ast.Lambda):
            yield module, name
            return
        if name in PASSED_ON.get((module, scope.name), ()):
            return  # every call is checked
        if not scope.name.startswith("_"):
            yield module, f"{name} of {scope.name}"
            return
        parameters = _parameters(scope)
        index = parameters.index(name) - (parameters[0] in ("self", "cls"))
        for place, scopes, call in self.sources.calls.get(scope.name, ()):
            if place != module:
                continue
            for value in _given(call, name, index):
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


def _parts(node: ast.expr) -> Sequence[ast.expr] | None:  # noqa: PLR0911 - one for each form of a text
    """The texts that a text is put together from; None if it is not put together."""
    match node:
        case ast.Constant() | ast.Call(func=ast.Name(id="len")):
            return ()
        case ast.JoinedStr(values=parts) | ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
            return parts
        case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
            return left, right
        case ast.Dict(keys=keys) if all(keys):
            return [key for key in keys if key]
        case ast.DictComp(key=key) | ast.Call(func=ast.Name(id="dict"), args=[ast.Call(ast.Name("zip"), [key, *_])]):
            return (key,)
        case ast.GeneratorExp(
            elt=ast.Attribute(value=ast.Name(id=name), attr="name"),
            generators=[ast.comprehension(target=ast.Name(id=bound), iter=ast.Call(func=ast.Name(id="fields")))],
        ) if name == bound:  # the fields of a dataclass
            return ()
        case ast.Call(ast.Name("map"), [ast.Name("str"), values]) | ast.Call(ast.Name("tuple"), [values]):
            return (values,)
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
