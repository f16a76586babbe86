"""Write the package of a scan: an ops.yaml of the operators that MindSpore lacks, and a function for each."""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge.base.errors import InputError, SchemaError
from opbridge.models.scan.mindspore_names import PYTORCH_ONLY
from opbridge.models.scan.verdicts import ScannedOperator, Verdict
from opbridge.waist.manifest.yaml_printer import to_yaml
from opbridge.waist.schema import Schema

_STAMP = "Made by `opbridge scan`"
_WIDTH = 88


@dataclass(frozen=True)
class Function:
    """One operator of the package, as a Python function."""

    name: str
    operator: ScannedOperator
    schema: Schema
    verdict: Verdict

    @property
    def entry(self) -> Mapping[str, object]:
        """The entry of the operator in ops.yaml."""
        return {"func": str(self.schema), "kernels": {"cpu": self.operator.name}}

    @property
    def source(self) -> str:
        """The source of the Python function."""
        names = {argument.name for argument in self.schema.arguments}
        parameters: list[str] = []
        passed: list[str] = []
        for argument in self.schema.arguments:
            name = _python_name(argument.name, names)
            if argument.name in PYTORCH_ONLY:
                passed.append("False")  # cudnn_enabled, which has no default
                continue
            if argument.kwarg_only and "*" not in parameters:
                parameters.append("*")
            parameters.append(f"{name}={argument.default.value!r}" if argument.default else name)
            passed.append(f"{argument.name}={name}" if argument.kwarg_only else name)
        lines = [
            *_wrapped(f"def {self.name}(", parameters, "):", ""),
            f'    """{self._doc}"""',
            *_wrapped(f"    return _{self.name}(", passed, ")", "    "),
        ]
        return "\n".join(lines)

    @property
    def _doc(self) -> str:
        wrapped = textwrap.wrap(self.operator.schema, _WIDTH - 8, break_long_words=False)
        said = textwrap.wrap(f"MindSpore: {self.verdict}.", _WIDTH - 4, break_long_words=False)
        first = f"First called in {self.operator.place.module or 'the script'}, {self.operator.place.line}."
        lines = [*wrapped, "", *said, first, ""]
        return "\n    ".join(lines).replace("    \n", "\n").replace("\\", "\\\\").replace('"""', "'''")


def functions(
    operators: Iterable[tuple[ScannedOperator, Verdict]], namespace: str
) -> tuple[list[Function], list[ScannedOperator]]:
    """Return a function for each operator, and the operators whose schemas a library cannot have."""
    wanted = list(operators)
    bases = [operator.base for operator, _ in wanted]
    made: list[Function] = []
    refused: list[ScannedOperator] = []
    for operator, verdict in wanted:
        several = bases.count(operator.base) > 1
        name = _function_name(operator.name if several else operator.base)
        try:
            schema = _own_schema(Schema.parse(operator.schema), namespace, name)
        except SchemaError:
            refused.append(operator)
            continue
        made.append(Function(name, operator, schema, verdict))
    return made, refused


def package(made: Sequence[Function], namespace: str, scanned: str, lacking: str) -> dict[str, str]:
    """Return the files of the package, by name."""
    manifest = to_yaml({"namespace": namespace, "ops": [function.entry for function in made]})
    names = sorted(function.name for function in made)
    purpose = f"Operators of {scanned} that {lacking} lacks, computed by PyTorch's kernels."
    title = "\n".join(textwrap.wrap(purpose, _WIDTH - 3, break_long_words=False))
    head = f'''"""{title}

{_STAMP}, which writes it anew.
"""

from pathlib import Path

import opbridge as ob

'''
    exported = "\n".join(_wrapped("__all__ = [", [f'"{name}"' for name in names], "]", ""))
    views = "\n".join(f"_{function.name} = _library.{function.name}.mindspore" for function in made)
    library = '_library = ob.load(Path(__file__).with_name("ops.yaml"))'
    bodies = "\n\n\n".join(function.source for function in made)
    return {
        "ops.yaml": f"# {_STAMP}: operators of {scanned} that {lacking} lacks.\n{manifest}",
        "__init__.py": f"{head}{exported}\n\n{library}\n{views}\n\n\n{bodies}\n",
    }


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write the package into a folder.

    Raises:
        InputError: A file there is not from an earlier scan, or the folder cannot be written.
    """
    try:
        for name in files:
            path = folder / name
            if path.exists() and _STAMP not in path.read_text(encoding="utf-8", errors="replace"):
                raise InputError(f"{path} exists and opbridge did not write it", hint="name another folder: -o my_ops")
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror}") from None


def _own_schema(schema: Schema, namespace: str, name: str) -> Schema:
    """Return the schema under another name, without optional PyTorch-only arguments."""
    asked = (item for item in schema.arguments if item.name not in PYTORCH_ONLY or not item.has_default)
    own = replace(schema, namespace=None, name=name, overload="", arguments=tuple(asked))
    Schema.parse(str(own.with_namespace(namespace)))  # a TorchScript keyword cannot be its name
    return own


def _function_name(operator: str) -> str:
    """Return a Python name: pow_tensor_scalar for `aten::pow.Tensor_Scalar`, and_ for `aten::__and__`."""
    name = re.sub(r"\W", "_", operator.partition("::")[2].lower()).strip("_")
    return f"{name}_" if keyword.iskeyword(name) else name


def _python_name(argument: str, taken: set[str]) -> str:
    if argument == "self":
        return "input" if "input" not in taken else "input_"
    return f"{argument}_" if keyword.iskeyword(argument) else argument


def _wrapped(head: str, items: Sequence[str], tail: str, indent: str) -> list[str]:
    """Return a bracketed list on one line if it fits, otherwise with one item a line."""
    line = head + ", ".join(items) + tail
    if len(line) <= _WIDTH:
        return [line]
    return [head, *(f"{indent}    {item}," if item != "*" else f"{indent}    *," for item in items), indent + tail]
