"""Generate the Python files of a wheel.

The module has the operators by name, each with a docstring; the stub has their types for editors and type checkers.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Sequence

from opbridge.base.errors import InputError
from opbridge.waist.manifest import OpSpec
from opbridge.waist.schema import Argument, ListType, OptionalType, Schema, Type

_TYPES = {
    **dict.fromkeys(("int", "SymInt", "DeviceIndex"), "int"),
    **dict.fromkeys(("bool", "SymBool"), "bool"),
    "float": "float",
    "complex": "complex",
    "Scalar": "complex",
    "str": "str",
}
"""The Python types of schema base types; type checkers accept an int as a float, and both as a complex."""

_TAKEN = {"Any", "Op", "Sequence", "Tensor", "TypeVar", "_library", "_open_library"}
"""Names that the generated files use themselves."""

_INDENT = " " * 4
_UNWRITABLE = "*args: Any, **kwargs: Any"


def function_names(ops: Sequence[OpSpec]) -> dict[str, OpSpec]:
    """Return the operators, keyed by their function name in the package; raise InputError if two share a name."""
    names: dict[str, OpSpec] = {}
    for op in ops:
        schema = op.schema
        name = f"{schema.name}_{schema.overload}" if schema.overload else schema.name
        if keyword.iskeyword(name) or name in _TAKEN:
            name += "_"
        if name in names:
            other = names[name].schema.full_name
            raise InputError(f"{other} and {schema.full_name} would both be called {name} in Python", op.where)
        names[name] = op
    return names


def module(namespace: str, version: str, names: dict[str, OpSpec]) -> str:
    """Return the text of the package's `__init__.py`."""
    lines = [
        _docstring(_about(namespace, names)),
        "",
        "from opbridge.authoring.wheel.installed import open_library as _open_library",
        "",
        f"__version__ = {version!r}",
        f"__all__ = {_list(names)}",
        "",
        "_library = _open_library(__name__, __file__)",
    ]
    for name, op in names.items():
        key = op.schema.full_name.removeprefix(f"{namespace}::")
        lines += ["", f"{name} = _library[{key!r}]", f"{name}.__doc__ = {_docstring(documentation(op))}"]
    return "\n".join((*lines, ""))


def stub(namespace: str, names: dict[str, OpSpec]) -> str:
    """Return the text of the package's `__init__.pyi`."""
    lines = [
        _docstring(_about(namespace, names)),
        "",
        "from collections.abc import Sequence",
        "from typing import Any, TypeVar",
        "",
        "from opbridge import Op",
        "",
        "_Tensor = TypeVar('_Tensor')",
        "",
        "__version__: str",
        f"__all__ = {_list(names)}",
    ]
    for name, op in names.items():
        lines += [
            "",
            f"class _{name}(Op):",
            f"{_INDENT}def __call__({_parameters(op.schema)}) -> {_returned(op.schema)}:",
            _docstring(documentation(op), _INDENT * 2),
            "",
            f"{name}: _{name}",
        ]
    return "\n".join((*lines, ""))


def documentation(op: OpSpec) -> str:
    """Describe an operator in words, from its schema and rules."""
    operator = next((kernel.operator for kernel in op.kernels if kernel.operator), None)
    if operator is not None:
        return f"{op.schema}\n\nIt is PyTorch's {operator}, with its gradient and on its devices."
    said = [_results(op)]
    arguments = sorted({name for derivative in op.rules.gradients for name in derivative.arguments})
    said.append(f"It has a gradient for {_and(arguments)}." if arguments else "It has no gradient.")
    if op.rules.batch is not None:
        said.append(f"Under vmap: {op.rules.batch}.")
    said.append(f"Runs on {_and([kernel.device for kernel in op.kernels])}.")
    return "\n".join((str(op.schema), "", *filter(None, said)))


def _results(op: OpSpec) -> str:
    changed = [argument.name for argument in op.schema.mutable_arguments]
    if changed:
        return f"It writes to {_and(changed)}."
    rules = op.rules.fields().get("out")
    if rules is None:
        return ""
    names = [output.name for output in op.schema.new_outputs]
    said = [_result(rule) for rule in (rules if isinstance(rules, list) else [rules])]
    if len(said) == 1:
        return f"The result is {said[0]}."
    named = (f"{name or number} is {rule}" for number, (name, rule) in enumerate(zip(names, said, strict=True), 1))
    return f"Of the results, {'; '.join(named)}."


def _result(rule: object) -> str:
    if isinstance(rule, dict):
        return f"of shape {rule['shape']} and dtype {rule['dtype']}"
    return f"like {rule}"


def _parameters(schema: Schema) -> str:
    if any(keyword.iskeyword(argument.name) or argument.name == "self" for argument in schema.arguments):
        return f"self, {_UNWRITABLE}"
    positional = [_parameter(argument) for argument in schema.positional]
    named = [_parameter(argument) for argument in schema.keyword_only]
    return ", ".join(("self", *positional, *(["*", *named] if named else [])))


def _parameter(argument: Argument) -> str:
    text = f"{argument.name}: {_type(argument.type)}"
    return f"{text} = {_literal(argument.default.value)}" if argument.default is not None else text


def _literal(value: object) -> str:
    """Return a default value for a stub; `...` for what a reader could not type in."""
    if isinstance(value, (bool, int)) or value is None or type(value) is str:
        return repr(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    return "..."


def _type(type_: Type) -> str:
    if isinstance(type_, OptionalType):
        return f"{_type(type_.elem)} | None"
    if isinstance(type_, ListType):
        item = _type(type_.elem)
        # PyTorch accepts one number for `int[2]` and repeats it.
        return f"{item} | Sequence[{item}]" if type_.size is not None else f"Sequence[{item}]"
    return "_Tensor" if type_.base == "Tensor" else _TYPES.get(type_.base, "Any")


def _returned(schema: Schema) -> str:
    types = [_returned_type(output.type) for output in schema.returns]
    # A type checker infers the tensor type from the arguments.
    if not schema.tensor_arguments or _UNWRITABLE in _parameters(schema):
        types = ["Any" for _ in types]
    if not types:
        return "None"
    return types[0] if len(types) == 1 else f"tuple[{', '.join(types)}]"


def _returned_type(type_: Type) -> str:
    if isinstance(type_, ListType):
        return f"list[{_returned_type(type_.elem)}]"
    return _type(type_)


def _about(namespace: str, names: dict[str, OpSpec]) -> str:
    return f"The operators of {namespace}, for tensors of PyTorch, MindSpore, JAX and NumPy: {_and(list(names))}."


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _list(names: dict[str, OpSpec]) -> str:
    public = sorted(name for name in names if not name.startswith("_"))
    return "[" + ", ".join(f'"{name}"' for name in public) + "]"


def _docstring(text: str, indent: str = "") -> str:
    escaped = re.sub(r'\\|"(?="")|"$', lambda found: f"\\{found[0]}", text)
    lines = [line and indent + line for line in escaped.split("\n")]
    closing = f"\n{indent}" if len(lines) > 1 else ""
    return f'{indent}"""{(chr(10).join(lines)).removeprefix(indent)}{closing}"""'
