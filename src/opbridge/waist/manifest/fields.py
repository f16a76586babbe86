"""The fields of a manifest in one table, which the reader and the JSON schema for editors share."""

from __future__ import annotations

from opbridge.waist.manifest.field_kinds import Arguments, ByForm, Field, ListOf, Record, Table, Text
from opbridge.waist.manifest.kernel_origins import DEVICES

_FORMULA_TYPES = ("string", "number", "boolean")
_FORMULA = Text("a formula", _FORMULA_TYPES)
_NUMBER = Text("a number", ("number",))
_BACKWARD = Text("an operator")

TENSOR = Record(
    "a tensor",
    (
        Field("shape", ListOf(Text("a size", ("integer",)), "a list of sizes"), "The sizes, such as [2, 3]."),
        Field("dtype", Text("a dtype"), "The element type; float32 where absent."),
        Field(
            "data",
            Text("elements", ("array", "number", "boolean")),
            "The elements, as nested lists, instead of a shape.",
        ),
        Field("fill", _NUMBER, "One value for every element."),
        Field("low", _NUMBER, "The smallest random value."),
        Field("high", _NUMBER, "The largest random value."),
    ),
)

_OUT = Record(
    "an output",
    (
        Field(
            "shape",
            ByForm(_FORMULA, sequence=ListOf(_FORMULA, "a list of sizes")),
            "The output's shape, such as [x.shape[0], y.shape[1]] or broadcast(x, y).",
            required=True,
        ),
        Field("dtype", _FORMULA, "The output's dtype, such as float32 or promote(x, y)."),
    ),
)
_ONE_OUT = ByForm(Text("an argument or a formula", _FORMULA_TYPES), _OUT)

OPERATOR = Record(
    "an operator",
    (
        Field(
            "func",
            Text("a schema such as `f(Tensor x, *, float a=1.0) -> Tensor`"),
            "The operator's name, arguments and results, in PyTorch's schema grammar.",
            required=True,
        ),
        Field(
            "out",
            ByForm(_ONE_OUT.scalar, _OUT, ListOf(_ONE_OUT, "a list of outputs")),
            "Shape and dtype of the new outputs: an argument to be like, {shape, dtype}, or a list of those.",
        ),
        Field(
            "kernels",
            Table(
                Text("a file, file:symbol, lib.so:symbol or aten::operator"),
                "a mapping from device to kernel, as in {cpu: file.cpp}",
                tuple(DEVICES),
            ),
            "One kernel a device: file, file:symbol, lib.so:symbol or aten::operator.",
        ),
        Field(
            "formula",
            Text("a formula such as `x * sigmoid(x)`", _FORMULA_TYPES),
            "What the operator computes, from which kernels and rules follow that are not said.",
        ),
        Field(
            "derivatives",
            Table(_FORMULA, "a mapping from argument to formula"),
            "The gradient of each argument, as a formula over grad, the arguments and the results.",
        ),
        Field(
            "backward",
            ByForm(_BACKWARD, Table(_BACKWARD, "an operator, as in {x, y: mylib::f_backward}")),
            "An operator that computes the gradients, instead of formulas: its name, or {arguments: name}.",
        ),
        Field("batch", Text("a batching rule"), "How the operator behaves under vmap: elementwise, loop or a pattern."),
        Field(
            "shard", Text("a sharding rule"), 'Which dimensions may be sharded together, such as "b s h, h -> b s h".'
        ),
        Field("flops", Text("a formula", _FORMULA_TYPES), "Floating point operations of one call, as a formula."),
        Field(
            "launch",
            Table(_FORMULA, "a mapping from the kernel's parameters to numbers"),
            "How an Ascend C kernel is started: blockDim, and each parameter that is neither tensor nor argument.",
        ),
        Field(
            "samples",
            ListOf(Arguments(TENSOR), "a list of samples"),
            "Inputs for check and bench; made from the schema where absent.",
        ),
    ),
    one_of=("kernels", "formula"),
)

MANIFEST = Record(
    "a manifest",
    (
        Field(
            "namespace", Text("a name"), "The library's name: its operators are called namespace::name.", required=True
        ),
        Field("ops", ListOf(OPERATOR, "a list of operators"), "The operators.", required=True),
    ),
)


def json_schema() -> dict[str, object]:
    """Return the JSON schema by which editors complete and check an ops.yaml."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "opbridge manifest",
        "description": "Operators of one library: schema, rules and a kernel for each device.",
        **MANIFEST.json_schema(),
    }
