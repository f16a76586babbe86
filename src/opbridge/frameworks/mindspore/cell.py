"""Provide an operator as a MindSpore Cell, for both PyNative and Graph mode.

A primitive runs the operator: an `ops.Custom` that reaches it by number. One primitive is for one set of
attributes, absent arguments, list lengths and element types. PyNative mode finds it in a native table. Graph mode
finds it while it compiles `construct`, which is generated for each operator.
"""

from __future__ import annotations

import math
import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import mindspore as ms
from mindspore import Tensor, nn, ops

from opbridge import _core
from opbridge.base.errors import CallError, OpbridgeError, UnsupportedError
from opbridge.frameworks.mindspore.construct_helpers import MISSING, copies_of, tensors_of, types_of
from opbridge.frameworks.mindspore.generated_modules import module_of
from opbridge.waist.rules import DTYPE_CODES
from opbridge.waist.schema import Argument, EnumName, ListType, OptionalType, Schema

if TYPE_CHECKING:
    from opbridge.waist.op import Op

Kinds = tuple[Any, ...]
"""For each tensor argument of the schema its dtype code, None if it is absent, or a tuple of these for a list."""

DTYPES: Mapping[str, Any] = {name: getattr(ms, "bool_" if name == "bool" else name) for name in DTYPE_CODES}
"""The MindSpore element types by their opbridge names."""

DTYPE_NAMES: Mapping[object, str] = {dtype: name for name, dtype in DTYPES.items()}
TYPES = tuple(DTYPES.values())
CODES: Mapping[object, int] = {dtype: DTYPE_CODES[name] for name, dtype in DTYPES.items()}

_MOST_PRIMITIVES = 128
_MOST_SHAPES = 64
_PLACEHOLDER = [((0,), DTYPE_CODES["bool"])]
"""The output of an operator that has none, because MindSpore requires one."""
_PRECISIONS = {"FP16": ms.float16, "FP32": ms.float32, "BF16": ms.bfloat16}
_UNKNOWN = "keywords_that_the_schema_has_not"
_ENTRY = f"{_core.__file__}:opbridge_target"


class CellOperator(Protocol):
    """The operator that a Cell runs."""

    name: str
    """The full name: namespace, name and overload."""
    schema: Schema

    def attributes(self, values: Mapping[str, object]) -> Hashable:
        """Check the attributes of a call, and return a form in which only equal attributes are equal."""

    def target(self, attributes: Any, kinds: Kinds) -> object:
        """Return a capsule with the Target of native/target.h.

        Its first outputs are the new values of the arguments that are written to.
        """

    @property
    def op(self) -> Op:
        """The Op whose `mindspore` is the Cell that others are copies of."""

    def bprop(self, attributes: Any, kinds: Kinds) -> Callable[..., tuple[Any, ...]]:
        """Return the gradient function; Graph mode reads its source.

        It takes the present tensors, the result of the primitive and the gradient of that result. It returns a
        gradient for each tensor.
        """


class OperatorPrimitive(ops.Custom):  # type: ignore[misc]
    """An operator with everything fixed except the sizes and contents of its tensors."""

    def __init__(self, name: str, target: object, bprop: Callable[..., object], *, returns_one: bool = False) -> None:
        """Publish the target; `returns_one` makes a target with one output return a tensor instead of a tuple."""
        super().__init__(f"{_ENTRY}_of_one" if returns_one else _ENTRY, *self._inference, func_type="aot", bprop=bprop)
        self._target = target
        number = _core.publish_target(target)
        weakref.finalize(self, _core.withdraw_target, number).atexit = False
        # MindSpore uses the name in messages. It caches compiled code by name and attributes, so the number is one too.
        self.add_prim_attr("reg_op_name", name)
        self.add_prim_attr("opbridge_target", number)
        self.add_prim_attr("multi_output", not returns_one)
        self._returns_one = returns_one
        self._inferred: dict[object, tuple[object, object]] = {}

    # None: MindSpore asks the library. It needs that for shapes if sizes are unknown while a graph is compiled. Types
    # come from Python, because MindSpore would treat a tensor of rank 0 as a number if a library gave its type.
    _inference: tuple[object, object] = (None, ())

    def __infer__(self, *inputs: Mapping[str, Any]) -> dict[str, Any]:
        shapes = tuple([tuple(item["shape"]) for item in inputs])
        # Creating the MindSpore types for every call would take a tenth of a small call.
        shape, dtype = self._inferred.get(shapes) or self._infer(shapes)
        return {"shape": shape, "dtype": dtype, "value": None}

    def _infer(self, shapes: tuple[tuple[int, ...], ...]) -> tuple[Any, Any]:
        outputs = _core.infer_target(self._target, shapes) or _PLACEHOLDER
        inferred = tuple(shape for shape, _ in outputs), tuple(ms.TensorType(TYPES[code]) for _, code in outputs)
        if len(self._inferred) >= _MOST_SHAPES:
            self._inferred.clear()
        self._inferred[shapes] = (inferred[0][0], inferred[1][0]) if self._returns_one else inferred
        return self._inferred[shapes]


class EagerPrimitive(OperatorPrimitive):
    """A primitive for PyNative mode, where MindSpore infers faster by Python."""

    _inference = ((), ())


class Constant(ops.PrimitiveWithInfer):  # type: ignore[misc]
    """A function of constants that Graph mode runs while it compiles."""

    def __init__(self, name: str, function: Callable[..., object], parameters: Iterable[str]) -> None:
        super().__init__(name)
        self.set_const_prim(True)
        self.add_prim_attr("constexpr_prim", True)
        self._name = name
        self._function = function
        self._parameters = tuple(parameters)

    def __infer__(self, *items: Mapping[str, object]) -> dict[str, Any]:
        _refuse_export(self._name)
        for parameter, item in zip(self._parameters, items, strict=True):
            if _is_variable(item["dtype"], item["value"]):
                raise CallError(
                    f"{self._name}: argument '{parameter}' expects a constant, got a value that only the running graph "
                    "knows; compute it outside of the graph, or pass it to the network as a plain Python value"
                )
        return {"dtype": None, "shape": None, "value": self._function(*(item["value"] for item in items))}

    def __call__(self, *values: object) -> Any:
        """Run the function in plain Python."""
        return self._function(*values)


def _refuse_export(name: str) -> None:
    """Raise UnsupportedError while MindSpore compiles a graph for a file, which only this process could run."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        phase = frame.f_locals.get("phase") if frame.f_code.co_name == "compile" else None
        if isinstance(phase, str) and phase.startswith("export."):
            raise UnsupportedError(
                f"{name}: a MINDIR cannot contain this operator: its kernel has a number that only this process knows; "
                "export a network whose operators are MindSpore's (`opbridge convert --native-only`)"
            )


def _is_variable(dtype: Any, value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_is_variable(dtype[place], item) for place, item in enumerate(value))
    if isinstance(value, Tensor):
        return True
    return value is None and dtype is not None


def _noting_hooks(register: Callable[..., object]) -> Callable[..., object]:
    """Wrap a method that registers a hook to note that there is one: checking each kind in every call would be slow."""

    def noting(self: OperatorCell, *args: object, **kwargs: object) -> object:
        self._has_hooks = True
        return register(self, *args, **kwargs)

    return noting


class OperatorCell(nn.Cell):  # type: ignore[misc]
    """The base of the Cells that `cell_of` creates, which add their own `construct`."""

    def __init__(self, operator: CellOperator) -> None:
        super().__init__(auto_prefix=False)
        schema = operator.schema
        self._operator = operator
        self._has_hooks = False
        self._returns = bool(schema.returns)
        self._made: OrderedDict[Any, OperatorPrimitive] = OrderedDict()
        self._table = _core.PrimitiveTable(
            operator.name,
            str(schema),
            [(argument.name, not argument.has_default, argument.is_tensor) for argument in schema.arguments],
            len(schema.positional),
            Tensor,
            CODES,
            self._primitive_for,
        )
        self.find = Constant(
            operator.name, self._found, ("keywords", "tensors", *(item.name for item in schema.attributes))
        )

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Run the operator in PyNative mode, with casts and hooks if there are any."""
        if self.mixed_precision_type is not None:
            dtype = _PRECISIONS[self.mixed_precision_type.name]
            args = tuple(_cast(value, dtype) for value in args)
            kwargs = {name: _cast(value, dtype) for name, value in kwargs.items()}
        if self.requires_grad or self._has_hooks:
            return self._as_cell(*args, **kwargs)
        try:
            outputs = self._table(*args, **kwargs)
        except RuntimeError as error:
            raise translated(error) from None
        return outputs if self._returns else None

    register_forward_pre_hook = _noting_hooks(nn.Cell.register_forward_pre_hook)
    register_forward_hook = _noting_hooks(nn.Cell.register_forward_hook)
    register_backward_pre_hook = _noting_hooks(nn.Cell.register_backward_pre_hook)
    register_backward_hook = _noting_hooks(nn.Cell.register_backward_hook)

    def _as_cell(self, *args: object, **kwargs: object) -> object:
        """Run a call with everything that Cell does around `construct`."""
        try:
            return super().__call__(*args, **kwargs)
        except RuntimeError as error:
            raise translated(error) from None

    def extend_repr(self) -> str:
        """Return the schema for the printed network."""
        return str(self._operator.schema)

    # A copy of a network gets its own Cell, because casts and hooks are set for each Cell.
    def __copy__(self) -> OperatorCell:
        return _copied(self, self.get_flags())

    def __deepcopy__(self, _: dict[int, object]) -> OperatorCell:
        return self.__copy__()

    def __reduce__(self) -> Any:
        op = self._operator.op
        return (getattr, (op, "mindspore")) if op.mindspore is self else (_copied, (op.mindspore, self.get_flags()))

    def _primitive_for(self, arguments: Mapping[str, object]) -> OperatorPrimitive:
        """Return the primitive for the arguments of a call in PyNative mode."""
        schema = self._operator.schema
        types = tuple(_type_of(arguments.get(item.name)) for item in schema.tensor_arguments)
        attributes = {item.name: arguments[item.name] for item in schema.attributes if item.name in arguments}
        return self._primitive(EagerPrimitive, types, attributes)

    def _found(self, unknown: tuple[str, ...], types: tuple[object, ...], *values: object) -> OperatorPrimitive:
        """Return the primitive for what `construct` knows while it is compiled."""
        schema = self._operator.schema
        attributes = dict(zip((item.name for item in schema.attributes), values, strict=True))
        present = dict(zip((item.name for item in schema.tensor_arguments), types, strict=True)) | attributes
        # Let the table report wrong argument names.
        self._table.bind(**dict.fromkeys(unknown), **{k: v for k, v in present.items() if v != MISSING})
        for item in schema.attributes:
            if (
                item.default
                and isinstance(item.default.value, EnumName)
                and item.default.value == attributes[item.name]
            ):
                del attributes[item.name]  # the PyTorch name of an enumerator is not a value here
        return self._primitive(OperatorPrimitive, types, attributes)

    def _primitive(
        self, make: type[OperatorPrimitive], types: tuple[object, ...], attributes: Mapping[str, object]
    ) -> OperatorPrimitive:
        if (target := ms.get_context("device_target")) != "CPU":
            raise UnsupportedError(
                f"{self._operator.name}: opbridge runs on MindSpore's CPU backend, the device target is {target}; "
                'write mindspore.set_device("CPU")'
            )
        arguments = self._operator.schema.tensor_arguments
        kinds = tuple(self._kind(item, type_) for item, type_ in zip(arguments, types, strict=True))
        fixed = (self._operator.attributes(attributes), kinds)
        key = (make, *fixed)
        if key not in self._made:
            one, bprop = returns_one(self._operator.schema), self._operator.bprop(*fixed)
            self._made[key] = make(self._operator.name, self._operator.target(*fixed), bprop, returns_one=one)
            if len(self._made) > _MOST_PRIMITIVES:
                self._made.popitem(last=False)
        self._made.move_to_end(key)
        return self._made[key]

    def _kind(self, argument: Argument, type_: object) -> object:
        if type_ is None and argument.type.is_optional:
            return None
        if not is_list(argument):
            return self._code(argument, argument.name, type_)
        if not isinstance(type_, tuple):
            self._refuse(argument, argument.name, type_, f"; write [{argument.name}] for one tensor")
        element = argument.type.elem if isinstance(argument.type, OptionalType) else argument.type
        optional = isinstance(element, ListType) and element.elem.is_optional
        return tuple(
            None if one is None and optional else self._code(argument, f"{argument.name}[{place}]", one)
            for place, one in enumerate(type_)
        )

    def _code(self, argument: Argument, name: str, type_: object) -> int:
        if type_ in CODES:
            return CODES[type_]
        if type_ is None or isinstance(type_, (str, tuple)):
            self._refuse(argument, name, type_)
        raise CallError(
            f"{self._operator.name}: argument '{name}' has elements of type {type_}, which kernels do not take; "
            "convert it, as with .astype(mindspore.float32)"
        )

    def _refuse(self, argument: Argument, name: str, type_: object, hint: str = "") -> NoReturn:
        wanted = "a list of mindspore.Tensor" if is_list(argument) and name == argument.name else "a mindspore.Tensor"
        got = (
            type_
            if isinstance(type_, str)
            else "None"
            if type_ is None
            else "a list"
            if isinstance(type_, tuple)
            else "a tensor"
        )
        raise CallError(f"{self._operator.name}: argument '{name}' expects {wanted}, got {got}{hint}")


def _cast(value: object, dtype: object) -> object:
    """Cast an argument as MindSpore mixed precision does."""
    if isinstance(value, (tuple, list)):
        return tuple(_cast(item, dtype) for item in value)
    return value.astype(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value


def _type_of(value: object) -> object:
    """Return the element type of a tensor, or those of a list; a text that describes anything else."""
    if isinstance(value, Tensor):
        return value.dtype
    if isinstance(value, (tuple, list)):
        return tuple(map(_type_of, value))
    if value is None:
        return None
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    if hasattr(value, "__dlpack__") or hasattr(value, "__array__"):
        name += "; all tensors of a call come from one framework: mindspore.Tensor(...) makes it one of MindSpore's"
    return name


def _copied(cell: OperatorCell, flags: Mapping[str, object]) -> OperatorCell:
    copy = type(cell)(cell._operator)
    copy.add_flags(**flags)
    return copy


class WritingCell(OperatorCell):
    """An operator that changes arguments: its primitive returns their new values, which are copied to them."""

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Run the operator; raise CallError if it would write to a view."""
        arguments = self._table.bind(*args, **kwargs)
        owners: dict[int, str] = {}
        for argument in self._operator.schema.mutable_arguments:
            tensor = arguments.get(argument.name)
            if not isinstance(tensor, Tensor):
                continue
            if _is_view(tensor):
                raise CallError(
                    f"{self._operator.name}: argument '{argument.name}', which is written to, is a view; "
                    "MindSpore cannot write through one: pass a copy, and assign it where it belongs"
                )
            other = owners.setdefault(tensor.data_ptr(), argument.name)
            if other != argument.name and tensor.size:
                raise CallError(
                    f"{self._operator.name}: arguments '{other}' and '{argument.name}', which are written to, "
                    "share memory; pass a copy of one"
                )
        return self._as_cell(**arguments)


def cell_of(operator: CellOperator) -> OperatorCell:
    """Create the Cell of an operator, with a new class and its `construct`."""
    schema = operator.schema
    name = "".join(part.capitalize() for part in (*schema.name.split("_"), *schema.overload.split("_")))
    base = WritingCell if schema.mutable_arguments else OperatorCell
    names = {"types_of": types_of, "tensors_of": tensors_of, "copies_of": copies_of, "inf": math.inf, "nan": math.nan}
    class_ = type(name, (base,), {"__doc__": str(schema)})
    module = module_of(schema.name, construct_text(schema), names, class_)
    setattr(class_, "construct", module.construct)  # noqa: B010 the class is made here
    cell: OperatorCell = class_(operator)
    return cell


def returns_one(schema: Schema) -> bool:
    """Return whether the primitive of an operator returns a tensor instead of a tuple."""
    return len(schema.returns) == 1 and not schema.mutable_arguments and str(schema.returns[0].type) == "Tensor"


def construct_text(schema: Schema) -> str:
    """Return the text of `construct` for Graph mode; raise UnsupportedError if a list is written to."""
    parameters = ["self", *map(_parameter, schema.positional)]
    if schema.keyword_only:
        parameters += ["*", *map(_parameter, schema.keyword_only)]
    # Accept unknown names to report them: the MindSpore messages name neither the operator nor the argument.
    parameters.append(f"**{_UNKNOWN}")
    tensors = schema.tensor_arguments
    types = "".join(f"types_of({item.name}), " for item in tensors)
    found = ", ".join([f"tuple({_UNKNOWN}.keys())", f"({types})", *(item.name for item in schema.attributes)])
    inputs = " + ".join(f"{'copies_of' if item.mutable else 'tensors_of'}({item.name})" for item in tensors) or "()"
    lines = [f"inputs = {inputs}", f"primitive = self.find({found})", "outputs = primitive(*inputs)"]
    written = schema.mutable_arguments
    for argument in written:
        if is_list(argument):
            raise UnsupportedError(
                f"{schema.full_name}: a list of tensors that are written to cannot be had in MindSpore"
            )
    if returns_one(schema):
        new = ["outputs"]
    elif not written:
        new = [f"outputs[{place}]" for place in range(len(schema.returns))]
    else:
        lines.append("place = 0")
        for argument in written:
            lines += [
                f"if {argument.name} is not None:",
                f"    {argument.name}.copy_(outputs[place])",
                "    place = place + 1",
            ]
        fresh = iter(range(len(schema.returns)))
        new = [
            aliased.name if (aliased := schema.aliased_argument(item)) else f"outputs[place + {next(fresh)}]"
            for item in schema.returns
        ]
    lines.append(f"return {new[0] if len(new) == 1 else '(' + ', '.join(new) + ')' if new else None}")
    return "".join([f"def construct({', '.join(parameters)}):\n", *(f"    {line}\n" for line in lines)])


def _parameter(argument: Argument) -> str:
    return f"{argument.name}={argument.default.value!r}" if argument.default else f"{argument.name}={MISSING!r}"


def is_list(argument: Argument) -> bool:
    """Return whether an argument is a list, optional or not."""
    type_ = argument.type.elem if isinstance(argument.type, OptionalType) else argument.type
    return isinstance(type_, ListType)


def _is_view(tensor: Any) -> bool:
    return not tensor.is_contiguous() or tensor.untyped_storage().nbytes() != tensor.nbytes


def translated(error: RuntimeError) -> BaseException:
    """Extract the error of an operator from a MindSpore message; return other errors unchanged."""
    _, found, rest = str(error).partition(f"{_core.__file__}! Error message is ")
    if isinstance(error, OpbridgeError) or not found:
        return error
    return CallError(rest.partition("\n\n-----")[0].strip())
