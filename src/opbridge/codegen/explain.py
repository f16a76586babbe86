"""Explain a call of an operator: the kernels that it passes through, and the lines generated for them.

For declared operators, the explanation is read from the sources that would be generated. For any other operator, it
comes from the PyTorch dispatcher.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from opbridge.base.errors import InputError, did_you_mean
from opbridge.codegen.backend import COMPOSITE_KEYS, Backend, BackendOperator

_GRADIENTS, _ALIASES = "Autograd", "ADInplaceOrView"


@dataclass(frozen=True)
class Step:
    """One kernel in the path of a call."""

    key: str
    kernel: str
    where: str = ""
    """The file and line, if they are known."""


@dataclass(frozen=True)
class Lines:
    """A piece of a generated file."""

    file: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.file}:{self.first}" + (f"-{self.last}" if self.last > self.first else "")


@dataclass(frozen=True)
class Explanation:
    """The explanation of one operator, as data: `opbridge codegen --explain` prints it."""

    schema: str
    declared: str
    """The place of the declaration; empty for an installed operator."""
    reached_as: tuple[str, ...]
    """The ways to call it from Python: torch.ops, a PyTorch method or function, a function of a package."""
    steps: tuple[Step, ...]
    """The kernels from the outermost to the one that does the work; each calls the next."""
    written: tuple[Lines, ...] = ()
    """The lines that were generated for it."""

    def __str__(self) -> str:
        lines = [self.schema]
        lines += [f"  declared at {self.declared}"] if self.declared else []
        lines += [f"  {way}" for way in self.reached_as]
        for depth, step in enumerate(self.steps):
            place = f"    {step.where}" if step.where else ""
            lines.append(f"  {'   ' * depth}└─ {step.key}: {step.kernel}{place}")
        if self.written:
            lines += ["  written for it", *(f"    {piece}" for piece in self.written)]
        return "\n".join(lines)


def explain_generated(backend: Backend, files: Mapping[str, str], name: str) -> list[Explanation]:
    """Explain every overload of a name among a backend's operators; `files` come from `sources(backend)`."""
    found = [operator for operator in backend.operators if name in _names(operator)]
    if not found:
        hint = did_you_mean(name, {each for operator in backend.operators for each in _names(operator)})
        raise InputError(f"no operator {name} is declared", hint=hint or "give the file that declares it")
    return [_generated(operator, backend, files) for operator in found]


def explain_installed(name: str, key: str = "CPU") -> list[Explanation]:
    """Explain every installed overload of a name, for tensors of one backend that require gradients."""
    from opbridge.frameworks.torch.dispatch import operator_names, overloads, python_names, schema_of

    full = name if "::" in name else f"aten::{name}"
    found = overloads(full)
    if not found:
        near = did_you_mean(full, {each.partition(".")[0] for each in operator_names()})
        hint = near or "import the library that registers it, or give the file that declares it"
        raise InputError(f"no operator {full} is registered with PyTorch", hint=hint)
    return [
        Explanation(schema_of(each), "", tuple(python_names(each)), tuple(_installed_steps(each, key)))
        for each in found
    ]


def _names(operator: BackendOperator) -> set[str]:
    full = operator.schema.full_name
    return {full, full.partition(".")[0], operator.name, operator.schema.name}


def _installed_steps(name: str, key: str) -> Iterator[Step]:
    from opbridge.frameworks.torch.dispatch import table

    entries = table(name)
    for each in (f"{_GRADIENTS}{key}", _ALIASES, key):
        entry = entries.get(each)
        if entry is None or entry.falls_through:
            continue
        yield Step(each, entry.kind, entry.by)
        if entry.kind == "math kernel":
            # It calls other operators, and each of these calls starts at the top.
            return


def _generated(operator: BackendOperator, backend: Backend, files: Mapping[str, str]) -> Explanation:
    written = tuple(_written(operator, files))
    return Explanation(
        str(operator.schema),
        str(operator.where),
        tuple(_reached(operator, backend)),
        tuple(_steps(operator, backend, files)),
        written,
    )


def _reached(operator: BackendOperator, backend: Backend) -> Iterator[str]:
    schema = operator.schema
    yield f"torch.ops.{schema.namespace}.{operator.name}"
    if not operator.is_custom:
        yield f"torch.{schema.name} and torch.Tensor.{schema.name}, where PyTorch has them"
    elif operator.exposed:
        yield f"{schema.namespace}_ops.{schema.name}"


def _steps(operator: BackendOperator, backend: Backend, files: Mapping[str, str]) -> Iterator[Step]:
    keys = [kernel.key for kernel in operator.kernels]
    composite = next((key for key in keys if key in COMPOSITE_KEYS), "")
    by_hand = operator.kernel(f"{_GRADIENTS}{backend.target.key}")
    if operator.derivative is not None:
        yield _step(backend.autograd_key, operator, files, "VariableType")
    elif by_hand is not None:
        yield Step(by_hand.key, by_hand.function, _place(operator, files, f"Register{by_hand.key}"))
    if operator.is_custom and any(argument.alias for argument in operator.schema.arguments):
        yield _step(_ALIASES, operator, files, _ALIASES)
    key = backend.target.key if operator.kernel(backend.target.key) else composite
    kernel = operator.kernel(key)
    if kernel is None:
        yield Step(backend.target.key, "the fallback to the CPU", "RegisterFallback.cpp")
        return
    yield _step(key, operator, files, f"Register{key}")
    yield Step("kernel", kernel.function, _place(operator, files, "Kernels", f" {kernel.name}("))


def _step(key: str, operator: BackendOperator, files: Mapping[str, str], stem: str) -> Step:
    line = next(_registrations(operator, files, stem), "")
    function = re.search(r"TORCH_FN\((\w+)\)", line)
    if function is None:
        return Step(key, "PyTorch's own", _place(operator, files, stem))
    return Step(key, function[1], _place(operator, files, stem, f" {function[1]}("))


def _registrations(operator: BackendOperator, files: Mapping[str, str], stem: str) -> Iterator[str]:
    for name, text in files.items():
        if name.startswith(stem):
            yield from (line for line in text.splitlines() if f'm.impl("{operator.name}",' in line)


def _place(operator: BackendOperator, files: Mapping[str, str], stem: str, holding: str = "") -> str:
    pieces = [piece for piece in _written(operator, files) if piece.file.startswith(stem)]
    if holding:
        pieces = [piece for piece in pieces if holding in _text(files, piece)] or pieces
    return str(pieces[0]) if pieces else ""


def _text(files: Mapping[str, str], piece: Lines) -> str:
    return "\n".join(files[piece.file].splitlines()[piece.first - 1 : piece.last])


def _written(operator: BackendOperator, files: Mapping[str, str]) -> Iterator[Lines]:
    """Yield the generated lines: blocks that begin with the schema as a comment, and single registrations."""
    schema = str(operator.schema)
    comment = f"// {schema}"
    one_line = (f'm.impl("{operator.name}",', f'm.def("{schema.partition("::")[2].partition("(")[0]}(')
    for name in sorted(files):
        text = files[name]
        if not name.startswith("python/") and not any(part in text for part in (comment, *one_line)):
            continue
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            if line == comment:
                yield Lines(name, number, _end(lines, number))
            elif any(part in line for part in one_line) or _is_entry(operator, name, line):
                yield Lines(name, number, number)


def _end(lines: list[str], first: int) -> int:
    """Return the last line of the block below a comment: it ends at the first line that closes it."""
    is_open = False
    for number in range(first, len(lines)):
        is_open |= lines[number].endswith("{")
        if lines[number] in ("}", "};") or (lines[number].endswith(";") and not is_open):
            return number + 1
    return len(lines)


def _is_entry(operator: BackendOperator, file: str, line: str) -> bool:
    """Return whether a line of the Python package defines the operator."""
    is_package = file.startswith(f"python/{operator.schema.namespace}_ops")
    return is_package and line.startswith((f"{operator.schema.name} = ", f"def {operator.schema.name}("))
