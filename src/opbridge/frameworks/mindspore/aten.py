"""Provide PyTorch operators in MindSpore, with shapes from its meta kernels and gradients from its autograd.

The arguments determine the overload, the attributes and the element types, which together make one primitive. Graph
mode finds it while it compiles, PyNative mode in a table. Gradients are of any order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

import mindspore as ms
import torch
from mindspore import Tensor, nn, ops
from mindspore._c_expression import typing
from mindspore.ops import functional

from opbridge import _core
from opbridge.base.errors import CallError, OpbridgeError, UnsupportedError
from opbridge.frameworks import FRAMEWORKS
from opbridge.frameworks.aten.aten_operator import AtenOperator, needs_values, result_types, target_names, translated
from opbridge.frameworks.mindspore.aten_eager import TorchFunction
from opbridge.frameworks.mindspore.cell import CODES, DTYPE_NAMES, TYPES, Constant, OperatorPrimitive
from opbridge.frameworks.mindspore.cell import translated as translated_of_graph
from opbridge.frameworks.mindspore.generated_modules import module_of
from opbridge.frameworks.mixing import refuse_foreign
from opbridge.frameworks.torch.native import load_native

_MOST_PRIMITIVES = 256
_TENSOR = "mindspore.Tensor"
"""Marks the element type of a tensor among the argument descriptions of a compiling graph."""

_ATTRIBUTES = ("attributes",)
"""The word in messages for what a graph does not know."""

_UNKNOWN_RANK = (-2,)

_AS_IS, _WITHOUT_STATE, _FIRST, _NESTED = range(4)
"""The part of a primitive result that a call returns.

The last output of a random operator is the generator state. _NESTED + n means that n tensors come before a list.
"""


@dataclass(frozen=True)
class Resolved:
    """What a call resolves to; without a primitive, PyTorch has to run it immediately."""

    overload: torch._ops.OpOverload
    primitive: OperatorPrimitive | None
    form: int

    def __call__(self, tensors: list[Tensor]) -> Any:
        """Run the primitive."""
        assert self.primitive is not None
        return _shaped(self.primitive(*tensors), self.form)


def _shaped(result: Any, form: int) -> object:
    if form == _AS_IS:
        return result
    if form == _WITHOUT_STATE:
        return result[:-1]
    return result[0] if form == _FIRST else (*result[: form - _NESTED], result[form - _NESTED :])


def _form_of(overload: object, random: bool = False) -> int:
    types = result_types(overload)
    if len(types) > 1 and types[-1] == "List[Tensor]":
        return _NESTED + len(types) - 1
    if random:
        return _FIRST if types == ["Tensor"] else _WITHOUT_STATE
    return _AS_IS


class AtenPrimitive(OperatorPrimitive):
    """A primitive for inputs of known sizes, whose outputs Python infers and checks."""

    _inference: tuple[object, object] = ((), ())

    def __infer__(self, *inputs: Mapping[str, Any]) -> dict[str, object]:
        outputs = _core.infer_target(self._target, tuple(item["shape"] for item in inputs))
        shapes = tuple(shape for shape, _ in outputs)
        # Given a bare element type, a graph would treat a tensor without dimensions as a number.
        dtypes = tuple(ms.TensorType(TYPES[code]) for _, code in outputs)
        one = self._returns_one
        return {"shape": shapes[0] if one else shapes, "dtype": dtypes[0] if one else dtypes, "value": None}


class DynamicPrimitive(AtenPrimitive):
    """A primitive for inputs of unknown sizes: MindSpore asks the library when it compiles and when it runs."""

    _inference = (None, ())


class Compiling(ops.PrimitiveWithInfer):  # type: ignore[misc]
    """A primitive that is true in a compiling graph and false in plain Python."""

    def __init__(self) -> None:
        super().__init__("Compiling")
        self.set_const_prim(True)
        self.add_prim_attr("constexpr_prim", True)

    def __infer__(self) -> dict[str, object]:
        return {"dtype": None, "shape": None, "value": True}

    def __call__(self) -> bool:
        """Return False, for plain Python."""
        return False


class AtenCell(nn.Cell):  # type: ignore[misc]
    """A PyTorch operator that can be called in PyNative and Graph mode."""

    def __init__(self, operator: AtenOperator) -> None:
        super().__init__(auto_prefix=False)
        self._operator = operator
        self._overloads = operator.functional
        self._names = target_names(operator)
        self._made: OrderedDict[object, Resolved] = OrderedDict()
        self._eager = {index for index, one in enumerate(self._overloads) if needs_values(one)}
        self.compiling = Compiling()
        # Hide it in a primitive, because a graph also parses code that it will not run.
        self.run_now = Constant(operator.full_name, lambda args, kwargs: self._run(*args, **kwargs), ("args", "kwargs"))
        self.find = Constant(operator.full_name, lambda known: self._in_graph(*known).primitive, _ATTRIBUTES)
        self.form = Constant(operator.full_name, lambda known: self._in_graph(*known).form, _ATTRIBUTES)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Run the operator."""
        # The rest of Cell.__call__ is needed only if the Cell itself is differentiated or casts.
        if self.requires_grad or self.mixed_precision_type:
            return super().__call__(*args, **kwargs)
        return self._run(*args, **kwargs)

    def construct(self, *args: object, **kwargs: object) -> object:
        """Run the operator; Graph mode compiles this method."""
        if not self.compiling():
            return self.run_now(args, kwargs)
        names = tuple(kwargs.keys())
        values = tuple(kwargs.values())
        tensors = tensors_in(args) + tensors_in(values)
        known = (described(args), names, described(values), are_static(tensors))
        primitive = self.find(known)
        result = primitive(*tensors)
        form = self.form(known)
        if form == 0:
            return result
        if form == 1:
            return result[:-1]
        if form == 2:
            return result[0]
        return result[: form - 3] + (result[form - 3 :],)  # noqa: RUF005 MindSpore knows no unpacking here

    def _run(self, *args: object, **kwargs: object) -> object:
        """Run a call in PyNative mode."""
        tensors: list[Tensor] = []
        key = (*(_key(value, tensors) for value in args), *kwargs, *(_key(value, tensors) for value in kwargs.values()))
        resolved = self._made.get(key) or self._resolve(args, kwargs, tensors)
        if resolved.primitive is None:
            result = TorchFunction.call(self._operator.full_name, resolved.overload, args, kwargs, attribute)
            result = _shaped(result, resolved.form)
        else:
            try:
                result = resolved(tensors)
            except RuntimeError as error:
                raise translated_of_graph(error) from None
        # Remember successful calls only: PyTorch may refuse a call because of its sizes.
        self._remember(key, resolved)
        return result

    def extend_repr(self) -> str:
        """Return the operator name for the printed network."""
        return self._operator.full_name

    # This Cell has no state, so every copy of a network can share it.
    def __copy__(self) -> AtenCell:
        return self

    def __deepcopy__(self, _: dict[int, object]) -> AtenCell:
        return self

    def _remember(self, key: object, resolved: Resolved) -> Resolved:
        self._made[key] = resolved
        self._made.move_to_end(key)
        if len(self._made) > _MOST_PRIMITIVES:
            self._made.popitem(last=False)
        return resolved

    def _resolve(self, args: tuple[object, ...], kwargs: Mapping[str, object], tensors: list[Tensor]) -> Resolved:
        """Resolve a call in PyNative mode."""
        self._refuse_foreign((*args, *kwargs.values()))
        slots = [_slot(tensor.dtype, tensor.shape) for tensor in tensors]
        placed = iter(slots)
        described_args = [_placed(value, placed) for value in args]
        described_kwargs = {name: _placed(value, placed) for name, value in kwargs.items()}
        capsule, index, draws = self._target(described_args, described_kwargs)
        overload = self._overloads[index]
        if not tensors or index in self._eager or not _infers(capsule, [tensor.shape for tensor in tensors]):
            return Resolved(overload, None, _form_of(overload))
        return self._resolved(AtenPrimitive, overload, capsule, slots, draws)

    def _in_graph(
        self, args: tuple[object, ...], names: tuple[str, ...], values: tuple[object, ...], static: bool
    ) -> Resolved:
        """Resolve a call from what a compiling graph knows about the arguments."""
        self._refuse_foreign((*args, *values))
        slots: list[torch.Tensor] = []
        described_args = [_from_graph(value, slots) for value in args]
        described_kwargs = {name: _from_graph(value, slots) for name, value in zip(names, values, strict=True)}
        key = ("graph", static, *(_frozen(value) for value in args), *names, *(_frozen(value) for value in values))
        if key in self._made:
            return self._made[key]
        capsule, index, draws = self._target(described_args, described_kwargs)
        overload = self._overloads[index]
        may_depend = torch.Tag.dynamic_output_shape in overload.tags
        if index in self._eager or (may_depend and not _infers(capsule, [_UNKNOWN_RANK] * len(slots))):
            raise UnsupportedError(
                f"{overload.name()}: what it returns depends on the values of its tensors, which are not known before "
                "it runs; call it in PyNative mode, outside of ms.jit"
            )
        if not slots:
            raise UnsupportedError(
                f"{overload.name()}: a graph needs a tensor among its arguments; call it outside of the graph and pass "
                "what it returns"
            )
        return self._remember(
            key, self._resolved(AtenPrimitive if static else DynamicPrimitive, overload, capsule, slots, draws)
        )

    def _refuse_foreign(self, values: tuple[object, ...]) -> None:
        """Raise CallError for a tensor of another framework: PyTorch would read its memory as that of a meta tensor."""
        for value in values:
            if isinstance(value, (list, tuple)):
                self._refuse_foreign(tuple(value))
            else:
                refuse_foreign(self._operator.full_name, FRAMEWORKS["mindspore"], value)

    def _target(self, args: list[object], kwargs: Mapping[str, object]) -> tuple[object, int, bool]:
        if (device := ms.get_context("device_target")) != "CPU":
            raise UnsupportedError(
                f"{self._operator.full_name}: opbridge runs on MindSpore's CPU backend, the device target is {device}; "
                'write mindspore.set_device("CPU")'
            )
        try:
            found: tuple[object, int, bool] = load_native().operator_target(self._names, *args, **kwargs)
        except Exception as error:
            raise translated(self._operator.full_name, error) from error.__cause__
        return found

    def _resolved(
        self,
        make: type[OperatorPrimitive],
        overload: torch._ops.OpOverload,
        capsule: object,
        slots: list[torch.Tensor],
        random: bool,
    ) -> Resolved:
        one = result_types(overload) == ["Tensor"]
        are_bool = tuple(slot.dtype is torch.bool for slot in slots)
        # In Graph mode, the gradient of a bprop that reads a tuple of results is wrong in MindSpore.
        results = Given.STATE if random else Given.ALL if one else Given.NONE
        primitive = _primitive(make, overload.name(), capsule, are_bool, results, returns_one=one and not random)
        if random:
            # Keep MindSpore from merging two equal draws.
            primitive.add_prim_attr("side_effect_hidden", True)
        return Resolved(overload, primitive, _form_of(overload, random))


def _infers(capsule: object, shapes: list[tuple[int, ...]]) -> bool:
    """Return whether PyTorch can infer the outputs; wrong arguments are reported when the call runs."""
    try:
        _core.infer_target(capsule, shapes)
    except (RuntimeError, OpbridgeError):
        return False
    return True


class Given(Enum):
    """The results of a call that its gradient receives, as an expression in its bprop."""

    ALL = "(out,)"
    STATE = "out[-1:]"
    NONE = "()"


def _primitive(
    make: type[OperatorPrimitive],
    name: str,
    capsule: object,
    are_bool: tuple[bool, ...],
    results: Given = Given.NONE,
    returns_one: bool = False,
) -> OperatorPrimitive:
    """Return a primitive that runs a target; its gradient is another target, built when first needed.

    `are_bool` says for each input whether its elements are bool.
    """
    of_name = f"the gradient of {name}"

    @cache
    def of_gradients(given: tuple[object, ...], gradients: tuple[object, ...]) -> OperatorPrimitive:
        known, codes = (tuple(CODES[kind] for kind in kinds) for kinds in (given, gradients))
        target = load_native().vjp_target(capsule, known if results is Given.ALL else (), codes)
        more = tuple(kind == ms.bool_ for kind in given + gradients)
        return _primitive(make, of_name, target, (*are_bool, *more))

    gradient = Constant(of_name, of_gradients, ("results", "gradients"))
    return make(name, capsule, _bprop_maker(are_bool, results)(gradient), returns_one=returns_one)


@cache
def _bprop_maker(are_bool: tuple[bool, ...], results: Given) -> Callable[[Constant], Callable[..., object]]:
    """Return a function that makes a bprop; Graph mode reads its source and requires a name for each parameter."""
    names = [f"x{place}" for place in range(len(are_bool))]
    tensors = f"({' '.join(f'{name},' for name in names)})"
    found = f"primitive(*({tensors} + given + gradients)){'[:-1]' if results is Given.STATE else ''}"
    if any(are_bool):
        # MindSpore adds the gradients of all uses of a tensor, and cannot add bools.
        items = (f"zero(found[{place}])" if is_bool else f"found[{place}]" for place, is_bool in enumerate(are_bool))
        found = f"{found}\n        found = as_tuple(found)\n        return ({', '.join(items)},)"
    text = (
        "def maker(gradient):\n"
        f"    def bprop({', '.join([*names, 'out', 'dout'])}):\n"
        f"        given = {results.value}\n"
        "        gradients = as_tuple(dout)\n"
        "        primitive = gradient(dtypes_of(given), dtypes_of(gradients))\n"
        f"        {'found =' if any(are_bool) else 'return'} {found}\n"
        "    return bprop\n"
    )
    known = {"dtypes_of": dtypes_of, "as_tuple": as_tuple, "zero": zero}
    module = module_of(f"bprop_{len(are_bool)}", text, known, _bprop_maker)
    maker: Callable[[Constant], Callable[..., object]] = module.maker
    return maker


def zero(tensor: torch.Tensor) -> Tensor:
    """Return the tensor as float32, in place of a gradient of bools."""
    return tensor.astype(ms.float32)


def as_tuple(result: object) -> object:
    """Return the result as a tuple; Graph mode compiles this function."""
    if isinstance(result, Tensor):
        return (result,)
    return result


def dtypes_of(tensors: Any) -> object:
    """Return the element types of tensors; Graph mode compiles this function."""
    return tuple([x.dtype for x in tensors])


def described(value: object) -> object:
    """Return what a compiling graph knows about an argument; Graph mode compiles this function too."""
    if isinstance(value, Tensor):
        return (_TENSOR, value.dtype)
    if isinstance(value, (list, tuple)):
        return tuple([described(x) for x in value])
    return value


def are_static(tensors: Any) -> object:
    """Return whether a graph knows the sizes of all tensors while it is compiled."""
    for x in tensors:  # noqa: SIM110 MindSpore knows no generators
        if not functional.isconstant(x.shape):
            return False
    return True


def tensors_in(value: object) -> Any:
    """Return the tensors in nested values; Graph mode compiles this function."""
    if isinstance(value, Tensor):
        return (value,)
    found = ()
    if isinstance(value, (list, tuple)):
        for x in value:
            found = found + tensors_in(x)
    return found


def _key(value: object, tensors: list[Tensor]) -> object:
    """Return a hashable form of an argument in which only equal values are equal: int is not bool, 0.0 is not -0.0."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return value.dtype
    if isinstance(value, (list, tuple)):
        return tuple(_key(item, tensors) for item in value)
    return type(value), value.hex() if isinstance(value, float) else _hashable(value)


def _hashable(value: object) -> object:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _frozen(value: object) -> Any:
    return _key(value, [])


def _slot(dtype: object, shape: tuple[int, ...] = ()) -> torch.Tensor:
    """Return the meta tensor that represents a MindSpore tensor when PyTorch selects the overload."""
    name = DTYPE_NAMES.get(dtype)
    if name is None:
        raise CallError(f"a tensor has elements of type {dtype}, which PyTorch lacks; convert it with .astype(...)")
    return torch.empty(shape, dtype=getattr(torch, name), device="meta")


def _placed(value: object, slots: Any) -> object:
    if isinstance(value, Tensor):
        return next(slots)
    if isinstance(value, (list, tuple)):
        return [_placed(item, slots) for item in value]
    return attribute(value)


def _from_graph(value: object, slots: list[torch.Tensor]) -> object:
    if isinstance(value, (list, tuple)):
        if len(value) == 2 and value[0] == _TENSOR:
            slots.append(_slot(value[1]))
            return slots[-1]
        return [_from_graph(item, slots) for item in value]
    return attribute(value)


def attribute(value: object) -> object:
    """Return a value that is not a tensor as PyTorch accepts it."""
    return getattr(torch, DTYPE_NAMES[value]) if isinstance(value, typing.Type) else value


def view(operator: AtenOperator) -> AtenCell:
    """Return the operator as a Cell."""
    return AtenCell(operator)
