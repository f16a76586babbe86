"""Read tasks and answers of flashinfer-bench: a Definition, its Workload and a Solution, all of them JSON.

They become the text of a KernelBench task and of an answer to it: axes become sizes, and the function that a Solution
names becomes the model. The lines of a Solution's source stay where they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opbridge.base.errors import InputError
from opbridge.base.safe_open import read_file

_FUNCTION = "run"
_LANGUAGES = ("python", "triton", "cuda", "cpp")
_TYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
_DRAWN = {"float": "torch.randn({}).to(torch.{})", "other": "torch.randint(0, 2, ({},)).to(torch.{})"}


@dataclass(frozen=True)
class Definition:
    """A Definition with the axes and scalars of one Workload."""

    axes: Mapping[str, int]
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    scalars: Mapping[str, object]
    reference: str

    @classmethod
    def read(cls, path: Path) -> Definition:
        """Read a Definition, and the first Workload of the file next to it; raise InputError if one is bad."""
        found, given = _parsed(path), _workload(path.with_suffix(".jsonl"))
        try:
            axes = {name: axis.get("value", given["axes"].get(name)) for name, axis in found["axes"].items()}
            scalars = {name: one["value"] for name, one in given["inputs"].items() if one["type"] == "scalar"}
            made = cls(axes, found["inputs"], found["outputs"], scalars, str(found["reference"]))
            made._check(path)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path} is not a Definition of flashinfer-bench, or has a bad Workload: {error!r}"
            ) from None
        return made

    def _check(self, path: Path) -> None:
        missing = [name for name, size in self.axes.items() if type(size) is not int or size <= 0]
        missing += [name for name, one in self.inputs.items() if one["shape"] is None and name not in self.scalars]
        if missing:
            place = path.with_suffix(".jsonl").name
            raise InputError(f"{path}: {missing[0]} has no value", hint=f"{place} has to give one in its first line")
        for name, one in {**self.inputs, **self.outputs}.items():
            if not name.isidentifier() or (one["shape"] is not None and one["dtype"] not in _TYPES):
                raise InputError(f"{path}: {name} is {one['dtype']}; expected a name and one of {', '.join(_TYPES)}")

    @property
    def tensors(self) -> list[str]:
        """The inputs that are tensors; all others are the same in each call."""
        return [name for name, one in self.inputs.items() if one["shape"] is not None]

    @property
    def arguments(self) -> str:
        """The arguments of the function."""
        return ", ".join(name if name in self.tensors else repr(self.scalars[name]) for name in self.inputs)

    def task(self) -> str:
        """Return the text of the task."""
        drawn = ", ".join(_drawn(self.inputs[name]) for name in self.tensors)
        sizes = [f"{name} = {size}" for name, size in self.axes.items()]
        inputs = ["def get_inputs():", f"    return [{drawn}]", "", "def get_init_inputs():", "    return []"]
        model = self._model("Model", [f"return {_FUNCTION}({self.arguments})"])
        return "\n".join(["import torch", *sizes, "", self.reference, "", *model, "", *inputs, ""])

    def model(self, function: str, *, into_outputs: bool) -> str:
        """Return the class that calls the function of a Solution, with its outputs if it writes to them."""
        if not into_outputs:
            return "\n".join(self._model("ModelNew", [f"return {function}({self.arguments})"]))
        made = [f"{name} = {self._made(one)}" for name, one in self.outputs.items()]
        names = ", ".join(self.outputs)
        return "\n".join(self._model("ModelNew", [*made, f"{function}({self.arguments}, {names})", f"return {names}"]))

    def _model(self, name: str, body: Iterable[str]) -> list[str]:
        head = f"    def forward(self, {', '.join(self.tensors)}):"
        return [f"class {name}(torch.nn.Module):", head, *(f"        {line}" for line in body)]

    def _made(self, output: Mapping[str, Any]) -> str:
        sizes = ", ".join(self._size(axis) for axis in output["shape"])
        return f"torch.empty(({sizes},), dtype=torch.{output['dtype']}, device={self.tensors[0]}.device)"

    def _size(self, axis: str) -> str:
        """Return the expression for an axis, by an input that has it."""
        for name in self.tensors:
            if axis in self.inputs[name]["shape"]:
                return f"{name}.shape[{self.inputs[name]['shape'].index(axis)}]"
        return str(self.axes[axis])


def answer_of(path: Path, definition: Definition) -> tuple[str, str]:
    """Return the name and the text of the answer that a Solution is; raise InputError if it is not one."""
    found = _parsed(path)
    try:
        spec, sources = found["spec"], {str(one["path"]): str(one["content"]) for one in found["sources"]}
        file, _, function = spec["entry_point"].partition("::")
        language, source = spec["language"], sources[file]
        into_outputs = spec.get("destination_passing_style", True)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not a Solution of flashinfer-bench: {error!r}") from None
    if language not in _LANGUAGES or not function.isidentifier():
        raise InputError(f"{path}: {function!r} in {language!r}: expected a function in {', '.join(_LANGUAGES)}")
    if len(sources) > 1:
        raise InputError(f"{path} has {len(sources)} sources", hint="the judge takes Solutions of one source")
    if language in ("cuda", "cpp"):
        source = _extension(source, language, spec.get("binding", "tvm-ffi"), path)
        function = f"extension.{function}"
    model = definition.model(function, into_outputs=into_outputs)
    return f"{Path(file).stem}.py", f"{source}\n\nimport torch\n\n{model}\n"


def _extension(source: str, language: str, binding: str, path: Path) -> str:
    if binding != "torch":
        raise InputError(f"{path}: its binding is {binding}", hint="the judge builds those of the binding `torch`")
    kind = "cuda_sources" if language == "cuda" else "cpp_sources"
    quoted = source.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    other = 'cpp_sources="", ' if language == "cuda" else ""
    build = f'extension = load_inline(name="solution", {other}{kind}="""{quoted}""")'
    return f"from torch.utils.cpp_extension import load_inline; {build}"


def _drawn(one: Mapping[str, Any]) -> str:
    kind = "float" if "float" in one["dtype"] else "other"
    return _DRAWN[kind].format(", ".join(map(str, one["shape"])), one["dtype"])


def _parsed(path: Path) -> Any:
    try:
        return json.loads(read_file(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from None


def _workload(path: Path) -> Any:
    """Return the first Workload of a file; without a file, there are no axes that vary."""
    if not path.is_file():
        return {"axes": {}, "inputs": {}}
    first = read_file(path).decode(errors="replace").partition("\n")[0]
    try:
        return json.loads(first)["workload"]
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}:1: expected a line of JSON with a `workload`") from None
