"""What every output reads: operators with their kernels, whatever dialect they were declared in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from opbridge.errors import InputError, Location, did_you_mean
from opbridge.names import check_cpp_name
from opbridge.schema import Schema

ATEN = "aten"
"""The namespace of PyTorch's own operators: their schemas are there already, and only kernels are registered."""

BACKEND_KEYS = (
    *("CPU", "CUDA", "HIP", "XPU", "MPS", "HPU", "XLA", "IPU", "VE", "Lazy", "MTIA", "MAIA", "Meta", "Vulkan"),
    *("PrivateUse1", "PrivateUse2", "PrivateUse3"),
)
"""Dispatch keys that a backend's kernels are registered for."""

_NEEDS_NO_GUARD = ("CPU", "Meta")

COMPOSITE_KEYS = (
    "CompositeImplicitAutograd",
    "CompositeImplicitAutogradNestedTensor",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)
"""Keys of kernels that call other operators and therefore run on every device."""


@dataclass(frozen=True, slots=True)
class TargetBackend:
    """What the sources are generated for."""

    namespace: str
    """Of the operators that are not PyTorch's own, as in torch.ops.NAMESPACE."""
    key: str
    """The dispatch key of the backend, such as PrivateUse1."""
    cpp_namespace: str
    """The C++ namespace of the kernels that the backend's authors write."""

    def __post_init__(self) -> None:
        if self.key not in BACKEND_KEYS:
            hint = did_you_mean(self.key, BACKEND_KEYS) or f"keys: {', '.join(BACKEND_KEYS)}"
            raise InputError(f"'{self.key}' is not the dispatch key of a backend", hint=hint)
        check_cpp_name(self.cpp_namespace, "the namespace of kernels")

    @property
    def family(self) -> tuple[str, ...]:
        """The backend's keys: for dense tensors first, then for every other kind of tensor it may have."""
        layers = ("", "Sparse", "SparseCsr", "Quantized", "NestedTensor", "Autograd", "Autocast")
        return tuple(layer + self.key for layer in layers)

    @property
    def switches_devices(self) -> bool:
        """Whether a process may have several devices of this kind, so that a kernel needs the right one current."""
        return self.key not in _NEEDS_NO_GUARD


@dataclass(frozen=True, slots=True)
class Output:
    """A tensor that a generated kernel hands to the library, and what it has to be like."""

    name: str
    size: str | None
    """A C++ expression for its sizes, or the name of a tensor with the same ones."""
    dtype: str | None
    """The same for its element type."""
    named_like: tuple[str, ...]
    """Tensors whose dimension names it takes."""

    def __post_init__(self) -> None:
        check_cpp_name(self.name, "the name of an output")


@dataclass(frozen=True, slots=True)
class OpapiCall:
    """What a generated kernel does: prepare outputs, and call one function of the backend's library."""

    function: str
    arguments: tuple[str, ...]
    """Names of arguments, outputs and variables, or C++ expressions of them."""
    outputs: tuple[Output, ...]
    """Those that are new, in the schema's order, and those of the schema's own that something is known of."""
    variables: tuple[tuple[str, str], ...] = ()
    """More values, each a name and a C++ expression."""

    def __post_init__(self) -> None:
        check_cpp_name(self.function, "a function")
        for name, _ in self.variables:
            check_cpp_name(name, "the name of a value")


@dataclass(frozen=True, slots=True)
class BackendKernel:
    """A C++ function that runs an operator for one dispatch key."""

    key: str
    function: str
    """Its qualified name, as in mylib::native::add_out."""
    symint: bool = False
    """It takes c10::SymInt where the schema says SymInt, and not int64_t."""
    shared: bool = False
    """It is that of another variant, `derived_from` of the operator, and has that one's arguments."""
    launch: OpapiCall | None = None
    """Its text is generated too; without it, writing the function is the backend's work."""

    def __post_init__(self) -> None:
        check_cpp_name(self.function, "a kernel")

    @property
    def namespace(self) -> str:
        return self.function.rpartition("::")[0]

    @property
    def name(self) -> str:
        return self.function.rpartition("::")[2]


ONLY_IN_PYTORCH = ("i",)
"""Names in formulas that PyTorch's own generated nodes have, for items of lists."""


@dataclass(frozen=True, slots=True)
class Formula:
    """The gradients of one or several arguments, as one C++ expression."""

    arguments: tuple[str, ...]
    """With several of them, the expression gives a tuple."""
    text: str
    uses: frozenset[str]
    """The names in it that are not functions: arguments, results and gradients."""


LINEAR, ELEMENT_WISE = "auto_linear", "auto_element_wise"
"""Forward derivatives that follow: the operator itself of the tangents, or the backward formula of the tangent."""


@dataclass(frozen=True, slots=True)
class Tangent:
    """The forward derivative of results, as one C++ expression over primals `x_p` and tangents `x_t`."""

    results: tuple[int, ...]
    """With several of them, the expression gives a tuple."""
    text: str
    """Or LINEAR or ELEMENT_WISE."""
    uses: frozenset[str]


@dataclass(frozen=True, slots=True)
class Derivative:
    formulas: tuple[Formula, ...]
    differentiable: tuple[bool, ...]
    """For each output, whether gradients come through it; `grads[i]` counts those only."""
    tangents: tuple[Tangent, ...] = ()
    """Empty where the forward derivative is found from the formulas of the gradients, which are linear."""
    without_gradient: tuple[str, ...] = ()
    """Tensors among the arguments that gradients do not go through."""
    schema: Schema | None = None
    """The operator's with the names that the formulas give its arguments, where these are not its own."""
    where: Location | None = None

    @property
    def uses(self) -> frozenset[str]:
        """The names that formulas of gradients use."""
        return frozenset[str]().union(*(formula.uses for formula in self.formulas))

    def without_formula(self, schema: Schema) -> tuple[str, ...]:
        """Tensors that nothing is said of: they cannot require gradients."""
        said = {*self.without_gradient, *(name for formula in self.formulas for name in formula.arguments)}
        return tuple(argument.name for argument in schema.tensor_arguments if argument.name not in said)


@dataclass(frozen=True, slots=True)
class BackendOperator:
    schema: Schema
    """Its namespace is never None."""
    kernels: tuple[BackendKernel, ...]
    where: Location
    derived_from: Schema | None = None
    """The operator whose kernel runs this one too, as that of `add.out` does `add_.Tensor`."""
    exposed: bool = True
    """It is part of the Python package's interface."""
    deprecated: str | None = None
    """What users are told to call instead; empty where there is nothing to call instead."""
    derivative: Derivative | None = None
    guards_device: bool = True
    """The wrapper makes the tensors' device the current one."""
    checks_devices: bool = True
    """The wrapper refuses tensors on different devices."""
    takes_tensor_refs: bool = False
    """PyTorch declares the operator's lists of tensors as at::ITensorListRef."""
    const_outputs: bool = False
    """PyTorch declares tensors that are written to as const at::Tensor&."""

    @property
    def is_custom(self) -> bool:
        """Whether the backend brings the schema itself."""
        return self.schema.namespace != ATEN

    @property
    def name(self) -> str:
        """Name and overload, as in add.Tensor."""
        return self.schema.full_name.partition("::")[2]

    @property
    def identifier(self) -> str:
        """Name and overload as one C++ name."""
        return self.name.replace(".", "_")

    def kernel(self, key: str) -> BackendKernel | None:
        return next((kernel for kernel in self.kernels if kernel.key == key), None)


@dataclass(frozen=True, slots=True)
class Backend:
    """Everything that one run generates sources for."""

    target: TargetBackend
    operators: tuple[BackendOperator, ...]
    """By namespace and name, each once."""
    is_ejected: bool = False
    """Its kernels and formulas come from an ops.yaml, and gradients go through tensors of every kind."""

    @classmethod
    def of(cls, target: TargetBackend, operators: Iterable[BackendOperator], *, is_ejected: bool = False) -> Backend:
        return cls(target, tuple(sorted(operators, key=lambda operator: operator.schema.full_name)), is_ejected)

    @property
    def autograd_key(self) -> str:
        """Where gradients are recorded for the backend's tensors."""
        return "Autograd" if self.is_ejected else f"Autograd{self.target.key}"

    @property
    def custom(self) -> tuple[BackendOperator, ...]:
        return tuple(operator for operator in self.operators if operator.is_custom)


def kernel_name(schema: Schema, *, symint: bool = False) -> str:
    """What a kernel is called where its author does not say: PyTorch's own convention."""
    return f"{schema.name}{'_out' if schema.out_arguments else ''}{'_symint' if symint else ''}"
