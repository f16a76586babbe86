"""The model that every output reads: operators with their kernels, from any dialect."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from opbridge.base.errors import InputError, Location, did_you_mean
from opbridge.base.names import check_cpp_name
from opbridge.waist.schema import Schema

ATEN = "aten"
"""The namespace of PyTorch's own operators: their schemas already exist, and only kernels are registered."""

BACKEND_KEYS = (
    *("CPU", "CUDA", "HIP", "XPU", "MPS", "HPU", "XLA", "IPU", "VE", "Lazy", "MTIA", "MAIA", "Meta", "Vulkan"),
    *("PrivateUse1", "PrivateUse2", "PrivateUse3"),
)
"""Dispatch keys for which the kernels of a backend are registered."""

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
    """The backend for which sources are generated."""

    namespace: str
    """The namespace of the operators that are not PyTorch's own, as in torch.ops.NAMESPACE."""
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
        """The backend's keys: for dense tensors first, then for every other kind of tensor that it may have."""
        layers = ("", "Sparse", "SparseCsr", "Quantized", "NestedTensor", "Autograd", "Autocast")
        return tuple(layer + self.key for layer in layers)

    @property
    def switches_devices(self) -> bool:
        """Whether a process may have several such devices, so that a kernel needs the right one current."""
        return self.key not in _NEEDS_NO_GUARD


@dataclass(frozen=True, slots=True)
class Output:
    """A tensor that a generated kernel passes to the library, and its required properties."""

    name: str
    size: str | None
    """A C++ expression for its sizes, or the name of a tensor with the same sizes."""
    dtype: str | None
    """A C++ expression for its element type, or the name of a tensor with the same type."""
    named_like: tuple[str, ...]
    """Tensors whose dimension names it takes."""

    def __post_init__(self) -> None:
        check_cpp_name(self.name, "the name of an output")


@dataclass(frozen=True, slots=True)
class OpapiCall:
    """The body of a generated kernel: prepare outputs, and call one function of the backend's library."""

    function: str
    arguments: tuple[str, ...]
    """Names of arguments, outputs and variables, or C++ expressions of them."""
    outputs: tuple[Output, ...]
    """The new outputs, in the schema's order, and the caller's outputs with a description."""
    variables: tuple[tuple[str, str], ...] = ()
    """Additional values, each with a name and a C++ expression."""

    def __post_init__(self) -> None:
        check_cpp_name(self.function, "a function")
        for name, _ in self.variables:
            check_cpp_name(name, "the name of a value")


@dataclass(frozen=True, slots=True)
class BackendKernel:
    """A C++ function that runs an operator for one dispatch key."""

    key: str
    function: str
    """The qualified name, such as mylib::native::add_out."""
    symint: bool = False
    """Whether it takes c10::SymInt, and not int64_t, where the schema has SymInt."""
    shared: bool = False
    """Whether it is the kernel of another variant (the operator's `derived_from`), with the arguments of that one."""
    launch: OpapiCall | None = None
    """The generated body; None if the backend's authors write the function."""

    def __post_init__(self) -> None:
        check_cpp_name(self.function, "a kernel")

    @property
    def namespace(self) -> str:
        """The C++ namespace of the function."""
        return self.function.rpartition("::")[0]

    @property
    def name(self) -> str:
        """The name of the function without its namespace."""
        return self.function.rpartition("::")[2]


ONLY_IN_PYTORCH = ("i",)
"""Names in formulas that only PyTorch's own generated nodes define, for items of lists."""


@dataclass(frozen=True, slots=True)
class Formula:
    """The gradients of one or several arguments, as one C++ expression."""

    arguments: tuple[str, ...]
    """If there are several, the expression yields a tuple."""
    text: str
    uses: frozenset[str]
    """The names in it that are not functions: arguments, results and gradients."""


LINEAR, ELEMENT_WISE = "auto_linear", "auto_element_wise"
"""Derived forward derivatives: the operator of the tangents, or the backward formula of one."""


@dataclass(frozen=True, slots=True)
class Tangent:
    """The forward derivative of results, as one C++ expression over primals `x_p` and tangents `x_t`."""

    results: tuple[int, ...]
    """If there are several, the expression yields a tuple."""
    text: str
    """The expression, or LINEAR or ELEMENT_WISE."""
    uses: frozenset[str]


@dataclass(frozen=True, slots=True)
class Derivative:
    """The derivative of an operator: formulas for gradients, and for tangents in forward mode."""

    formulas: tuple[Formula, ...]
    differentiable: tuple[bool, ...]
    """Whether gradients pass through each output; `grads[i]` counts only those that do."""
    tangents: tuple[Tangent, ...] = ()
    """Empty if the forward derivative is computed from the formulas of the gradients, which are linear."""
    without_gradient: tuple[str, ...] = ()
    """The tensor arguments through which no gradients pass."""
    schema: Schema | None = None
    """The operator's schema with the argument names of the formulas, if they differ from its own."""
    where: Location | None = None

    @property
    def uses(self) -> frozenset[str]:
        """The names that the formulas of gradients use."""
        return frozenset[str]().union(*(formula.uses for formula in self.formulas))

    def without_formula(self, schema: Schema) -> tuple[str, ...]:
        """Return the tensors that have no formula and are not declared to need none: they cannot require gradients."""
        said = {*self.without_gradient, *(name for formula in self.formulas for name in formula.arguments)}
        return tuple(argument.name for argument in schema.tensor_arguments if argument.name not in said)


@dataclass(frozen=True, slots=True)
class BackendOperator:
    """An operator with its kernels, and the properties that its wrappers depend on."""

    schema: Schema
    """The schema, whose namespace is never None."""
    kernels: tuple[BackendKernel, ...]
    where: Location
    derived_from: Schema | None = None
    """The operator whose kernel also runs this one, as `add.out` does for `add_.Tensor`."""
    exposed: bool = True
    """Whether it is part of the Python package's interface."""
    deprecated: str | None = None
    """The replacement that the warning suggests; empty if there is none."""
    derivative: Derivative | None = None
    guards_device: bool = True
    """Whether the wrapper makes the tensors' device the current one."""
    checks_devices: bool = True
    """Whether the wrapper refuses tensors on different devices."""
    takes_tensor_refs: bool = False
    """Whether PyTorch declares the operator's lists of tensors as at::ITensorListRef."""
    const_outputs: bool = False
    """Whether PyTorch declares tensors that are written to as const at::Tensor&."""

    @property
    def is_custom(self) -> bool:
        """Whether the backend provides the schema itself."""
        return self.schema.namespace != ATEN

    @property
    def name(self) -> str:
        """The name and overload, such as add.Tensor."""
        return self.schema.full_name.partition("::")[2]

    @property
    def identifier(self) -> str:
        """The name and overload as one C++ name."""
        return self.name.replace(".", "_")

    def kernel(self, key: str) -> BackendKernel | None:
        """Return the kernel for a dispatch key, or None."""
        return next((kernel for kernel in self.kernels if kernel.key == key), None)


@dataclass(frozen=True, slots=True)
class Backend:
    """Everything for which one run generates sources."""

    target: TargetBackend
    operators: tuple[BackendOperator, ...]
    """The operators, sorted by namespace and name, each once."""
    is_ejected: bool = False
    """Whether kernels and formulas come from an ops.yaml; gradients then pass through tensors of every kind."""

    @classmethod
    def of(cls, target: TargetBackend, operators: Iterable[BackendOperator], *, is_ejected: bool = False) -> Backend:
        """Return a backend with its operators sorted by full name."""
        return cls(target, tuple(sorted(operators, key=lambda operator: operator.schema.full_name)), is_ejected)

    @property
    def autograd_key(self) -> str:
        """The dispatch key that records gradients for the backend's tensors."""
        return "Autograd" if self.is_ejected else f"Autograd{self.target.key}"

    @property
    def custom(self) -> tuple[BackendOperator, ...]:
        """The operators whose schemas the backend provides."""
        return tuple(operator for operator in self.operators if operator.is_custom)


def kernel_name(schema: Schema, *, symint: bool = False) -> str:
    """Return the default name of a kernel, by PyTorch's convention."""
    return f"{schema.name}{'_out' if schema.out_arguments else ''}{'_symint' if symint else ''}"
