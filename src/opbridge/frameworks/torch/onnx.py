"""Export operators with torch.onnx.export as nodes of a domain named after their namespace: `ob.onnx_translations`.

`opbridge compile --for onnxruntime` builds operators for these nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from opbridge.base.errors import CallError, ToolchainError, UnsupportedError, for_users
from opbridge.build.sources.onnxruntime_export import operator_name
from opbridge.frameworks.aten.aten_operator import AtenOperator
from opbridge.waist.op import Op, OpLibrary
from opbridge.waist.schema import Argument, Schema

if TYPE_CHECKING:
    from torch._ops import OpOverload

_VERSION = 1
"""The version of the domain; an operator whose schema changes is a new operator."""

_DTYPES = dict(
    enumerate(
        (
            *("float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool"),
            *("float16", "float64", "uint32", "uint64", "complex64", "complex128", "bfloat16"),
        ),
        start=1,
    )
)
"""The element types by their ONNX number."""

_TYPES = [f"tensor({ {'float32': 'float', 'float64': 'double'}.get(name, name) })" for name in _DTYPES.values()]


@for_users
def onnx_translations(*operators: Op | OpLibrary) -> dict[Callable[..., object], Callable[..., object]]:
    """Return the `custom_translation_table` of torch.onnx.export.

    Args:
        operators: Operators or libraries.

    Returns:
        A map from operators of `torch.ops` to their ONNX translations.

    Raises:
        ToolchainError: onnx or onnxscript is missing.
        CallError: An argument is neither an operator nor a library.
        UnsupportedError: An operator writes to its arguments.

    Example:
        torch.onnx.export(model, (x,), dynamo=True, custom_translation_table=ob.onnx_translations(lib))
    """
    try:
        import onnx
        import onnxscript  # noqa: F401  # the PyTorch exporter needs it too, with a less clear error
    except ImportError as error:
        raise ToolchainError(
            f"onnx_translations() needs what torch.onnx.export does: {error}; `pip install onnx onnxscript`"
        ) from error
    table: dict[OpOverload, Callable[..., object]] = {}
    for given in operators:
        if not isinstance(given, (Op, OpLibrary)):
            raise CallError(f"onnx_translations() expects operators or libraries of them, got {given!r:.60}")
        for op in given if isinstance(given, OpLibrary) else (given,):
            op.torch  # noqa: B018  # registers it
            table[AtenOperator.registered(op.name).torch] = _translation(op.name, op.spec.schema, onnx)
    return table


def _translation(full_name: str, schema: Schema, onnx: object) -> Callable[..., object]:
    if schema.mutable_arguments:
        raise UnsupportedError(f"{full_name} writes to its arguments, and ONNX has no operator that does")

    def translate(*args: object, **kwargs: object) -> object:
        from onnxscript import ir, values

        given = {item.name: value for item, value in zip(schema.arguments, args, strict=False)} | kwargs
        inputs, attributes = _split(full_name, schema, given)
        declared = _declaration(schema, attributes, onnx)
        opset = values.Opset(schema.namespace, _VERSION)
        # An empty list does not determine its element type.
        empty = {
            item.name: (ir.AttrFloat32s if item.type.base == "float" else ir.AttrInt64s)(item.name, [])
            for item in schema.arguments
            if attributes.get(item.name) == []
        }
        return values.Op(opset, declared.name, declared)(*inputs, **attributes | empty)

    return translate


def _split(full_name: str, schema: Schema, given: Mapping[str, Any]) -> tuple[list[object], dict[str, object]]:
    """Return the tensors of a call in order, and its attributes as ONNX represents them."""
    inputs: list[object] = []
    attributes: dict[str, object] = {}
    for argument in schema.arguments:
        value = given.get(argument.name)
        if argument.is_tensor:
            inputs += list(value or ()) if argument.type.is_list else [value]
        elif argument.name in given and value is not None:
            attributes[argument.name] = _attribute(full_name, argument, value)
    return inputs, attributes


def _attribute(full_name: str, argument: Argument, value: Any) -> object:
    """Return a value as the library for ONNX Runtime reads it: a type by its name, bools as numbers."""
    if argument.type.base == "ScalarType":
        return _DTYPES[int(value)]  # the PyTorch exporter converted it to the ONNX number
    if isinstance(value, (list, tuple)):
        return [_attribute(full_name, argument, item) for item in value]
    if argument.type.base == "float" and isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, (bool, int)):
        return int(value)
    if isinstance(value, (float, str)):
        return value
    raise UnsupportedError(
        f"{full_name}: '{argument.name}' is known when the model runs, and an attribute of ONNX when it is exported\n"
        "  give it a number that does not depend on sizes or values"
    )


def _declaration(schema: Schema, attributes: Mapping[str, object], onnx: Any) -> Any:
    """Return the declaration from which the graph builder learns the number and kinds of inputs and outputs."""
    defs = onnx.defs.OpSchema
    tensors = [argument for argument in schema.arguments if argument.is_tensor]
    kinds = [
        defs.FormalParameterOption.Variadic
        if argument.type.is_list
        else defs.FormalParameterOption.Optional
        if argument.type.is_optional
        else defs.FormalParameterOption.Single
        for argument in tensors
    ]
    inputs = [
        defs.FormalParameter(argument.name, f"T{place}", param_option=kind, is_homogeneous=False)
        for place, (argument, kind) in enumerate(zip(tensors, kinds, strict=True))
    ]
    outputs = [defs.FormalParameter(f"out{place}", f"O{place}") for place in range(len(schema.returns))]
    return defs(
        operator_name(schema),
        schema.namespace,
        _VERSION,
        inputs=inputs,
        outputs=outputs,
        type_constraints=[(item.type_str, _TYPES, "any") for item in (*inputs, *outputs)],
        attributes=[defs.Attribute(name, _kind(value, onnx), required=False) for name, value in attributes.items()],
    )


def _kind(value: object, onnx: Any) -> object:
    kinds = onnx.defs.OpSchema.AttrType
    if isinstance(value, list):
        return kinds.FLOATS if any(isinstance(item, float) for item in value) else kinds.INTS
    return {int: kinds.INT, float: kinds.FLOAT, str: kinds.STRING}[type(value)]
