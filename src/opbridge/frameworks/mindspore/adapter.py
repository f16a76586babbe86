"""Provide operators in MindSpore as Cells on top of MindSpore custom operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import mindspore as ms

from opbridge._core import RuleOperator
from opbridge.base.errors import UnsupportedError
from opbridge.frameworks.mindspore.cell import DTYPE_NAMES, DTYPES, Constant, Kinds, OperatorCell, cell_of
from opbridge.frameworks.mindspore.formulas import HELPERS, BpropText
from opbridge.frameworks.mindspore.generated_modules import module_of

if TYPE_CHECKING:
    from opbridge.frameworks.interface import Library
    from opbridge.waist.op import Op


def define(library: Library) -> None:
    """Do nothing: MindSpore keeps no table of operators."""


def view(library: Library, index: int) -> OperatorCell:
    """Return the operator as a Cell."""
    return cell_of(MindSporeOperator(library, index))


def call(library: Library, index: int) -> Callable[..., Any]:
    """Return a copy of the view."""
    # The Cell of the view may be part of a network, where it may cast inputs or have hooks.
    cell: OperatorCell = copy(library.view(index, "mindspore"))
    return cell


class MindSporeOperator:
    """The operator that a Cell runs, with its rules and its kernel."""

    def __init__(self, library: Library, index: int) -> None:
        spec = library.spec(index)
        self.name = spec.schema.full_name
        self.schema = spec.schema
        self._derivatives = spec.rules.gradients
        self._library = library
        self._index = index
        self._native = RuleOperator(library.catalog.plan, index)
        self._makers: dict[Kinds, Callable[..., object]] = {}

    @property
    def op(self) -> Op:
        """The Op of the operator."""
        return self._library.op(self._index)

    def attributes(self, values: Mapping[str, object]) -> bytes:
        """Check the attributes of a call and encode them; equal attributes give equal bytes."""
        names = {name: DTYPE_NAMES.get(value) for name, value in values.items() if isinstance(value, ms.Type)}
        return self._native.attributes({**values, **names})

    def target(self, attributes: bytes, kinds: Kinds) -> object:
        """Return the Target of a call, building the kernel on first use."""
        return self._native.target(attributes, kinds, self._library.kernel(self._index, "cpu"))

    def bprop(self, attributes: bytes, kinds: Kinds) -> Callable[..., Any]:
        """Return the gradient function of a call with these attributes and tensors."""
        values = self._native.values(attributes)
        dtypes = {item.name for item in self.schema.attributes if item.type.base == "ScalarType"}
        arguments = (DTYPES[value] if name in dtypes and value else value for name, value in values.items())
        bprop: Callable[..., object] = self._maker(_present(kinds))(*arguments)
        return bprop

    def _maker(self, kinds: Kinds) -> Callable[..., Any]:
        if kinds not in self._makers:
            bprop = BpropText(self.schema, self._derivatives, kinds)
            names: dict[str, Any] = {**HELPERS, "refuse": Constant(self.name, self._refuse, ("gradients",))}
            names |= {name: DTYPES[dtype] for dtype, name in bprop.dtypes.items()}
            names |= {name: self._operator(operator) for operator, name in bprop.operators.items()}
            self._makers[kinds] = module_of(f"{self.schema.name}_bprop", bprop.text, names, self).make
        return self._makers[kinds]

    def _operator(self, name: str) -> object:
        """Return the operator that a formula calls by this name."""
        if name.startswith("aten::"):
            from opbridge.frameworks.aten.aten_operator import AtenOperator  # which imports PyTorch
            from opbridge.frameworks.mindspore import aten

            return aten.view(AtenOperator.find(name))
        names = self._library.catalog.names
        if name not in names:
            raise UnsupportedError(f"{self.name}: its derivative calls {name}, which MindSpore lacks")
        return self._library.view(names.index(name), "mindspore")

    def _refuse(self, gradients: tuple[object, ...]) -> int:
        """Raise UnsupportedError for an operator without derivatives, unless none of its outputs are floats."""
        if any(dtype in _DIFFERENTIABLE for dtype in gradients):
            raise UnsupportedError(
                f"{self.name} has no derivative; add `derivatives` or `backward` to its declaration, "
                "or stop the gradient before it with mindspore.ops.stop_gradient"
            )
        return 0


_DIFFERENTIABLE = frozenset(DTYPES[name] for name in DTYPES if "float" in name or "complex" in name)


def _present(kinds: Kinds) -> Kinds:
    """Return which tensors are present, which is all that the text of a bprop depends on."""
    return tuple(_present(kind) if isinstance(kind, tuple) else None if kind is None else 0 for kind in kinds)
