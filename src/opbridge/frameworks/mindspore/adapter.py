"""Operators in MindSpore: a Cell for each, on top of MindSpore's own custom operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import mindspore as ms

from opbridge._core import RuleOperator
from opbridge.errors import UnsupportedError
from opbridge.frameworks.mindspore.cell import DTYPE_NAMES, DTYPES, Constant, Kinds, OperatorCell, cell_of
from opbridge.frameworks.mindspore.formulas import HELPERS, BpropText
from opbridge.frameworks.mindspore.generated_modules import module_of

if TYPE_CHECKING:
    from opbridge.frameworks.interface import Library
    from opbridge.op import Op


def define(library: Library) -> None:
    """MindSpore keeps no table of operators."""


def view(library: Library, index: int) -> OperatorCell:
    return cell_of(MindSporeOperator(library, index))


def call(library: Library, index: int) -> Callable[..., Any]:
    # Not the one that a user may have put into a network, which may cast its inputs or have hooks.
    cell: OperatorCell = copy(library.view(index, "mindspore"))
    return cell


class MindSporeOperator:
    """An operator with rules and a kernel, as a Cell asks for it."""

    def __init__(self, library: Library, index: int) -> None:
        spec = library.spec(index)
        self.name = spec.schema.full_name
        self.schema = spec.schema
        self._derivatives = spec.rules.gradients
        self._library = library
        self._index = index
        self._native = RuleOperator(library.catalog.plan, index)
        self._makers: dict[Kinds, Callable[..., Any]] = {}

    @property
    def op(self) -> Op:
        return self._library.op(self._index)

    def attributes(self, values: Mapping[str, object]) -> bytes:
        names = {name: DTYPE_NAMES.get(value) for name, value in values.items() if isinstance(value, ms.Type)}
        return self._native.attributes({**values, **names})

    def target(self, attributes: bytes, kinds: Kinds) -> object:
        return self._native.target(attributes, kinds, self._library.kernel(self._index, "cpu"))

    def bprop(self, attributes: bytes, kinds: Kinds) -> Callable[..., Any]:
        values = self._native.values(attributes)
        dtypes = {item.name for item in self.schema.attributes if item.type.base == "ScalarType"}
        arguments = (DTYPES[value] if name in dtypes and value else value for name, value in values.items())
        bprop: Callable[..., Any] = self._maker(_present(kinds))(*arguments)
        return bprop

    def _maker(self, kinds: Kinds) -> Callable[..., Any]:
        if kinds not in self._makers:
            bprop = BpropText(self.schema, self._derivatives, kinds)
            names: dict[str, Any] = {**HELPERS, "refuse": Constant(self.name, self._refuse, ("gradients",))}
            names |= {name: DTYPES[dtype] for dtype, name in bprop.dtypes.items()}
            names |= {name: self._operator(operator) for operator, name in bprop.operators.items()}
            self._makers[kinds] = module_of(f"{self.schema.name}_bprop", bprop.text, names, self).make
        return self._makers[kinds]

    def _operator(self, name: str) -> Any:
        """What a formula calls by this name."""
        if name.startswith("aten::"):
            from opbridge.frameworks.aten.operators import AtenOperator  # which imports PyTorch
            from opbridge.frameworks.mindspore import aten

            return aten.view(AtenOperator.find(name))
        names = self._library.catalog.names
        if name not in names:
            raise UnsupportedError(f"{self.name}: its derivative calls {name}, which MindSpore has not")
        return self._library.view(names.index(name), "mindspore")

    def _refuse(self, gradients: tuple[Any, ...]) -> int:
        """What the bprop of an operator without derivatives asks; outputs that are no floats have none anyway."""
        if any(dtype in _DIFFERENTIABLE for dtype in gradients):
            raise UnsupportedError(
                f"{self.name} has no derivative; add `derivatives` or `backward` to its declaration, "
                "or stop the gradient before it with mindspore.ops.stop_gradient"
            )
        return 0


_DIFFERENTIABLE = frozenset(DTYPES[name] for name in DTYPES if "float" in name or "complex" in name)


def _present(kinds: Kinds) -> Kinds:
    """What the text of a bprop depends on."""
    return tuple(_present(kind) if isinstance(kind, tuple) else None if kind is None else 0 for kind in kinds)
