"""Combine a function and the function that computes its gradient: `ob.autograd`.

Which values the second function gets is determined by name, and compared with both signatures, before PyTorch is
needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from opbridge.base.errors import CallError, ToolchainError, UnsupportedError, for_users
from opbridge.frameworks import FRAMEWORKS, installed
from opbridge.waist.functions.gradient_pairs import Callee, GradientPair, names_of
from opbridge.waist.functions.signatures import name_of

if TYPE_CHECKING:
    from opbridge.waist.schema import Schema

Names = str | Iterable[str]


@for_users
def autograd(
    *,
    forward: Callable[..., object],
    backward: Callable[..., object],
    saved: Names = (),
    inputs: Names | None = None,
    outputs: Names | None = None,
    gradients: Names | None = None,
    nondifferentiable: Names = (),
    double_backward: Callable[..., object] | bool = False,
    schema: str | None = None,
    out: object = None,
) -> Callable[..., object]:
    """Return a function of PyTorch tensors with the gradient `backward(grads..., saved...)`.

    Args:
        forward: The function. Results beyond `outputs` are for `backward` only, and have the other names in `saved`.
        backward: Returns the gradients of the arguments.
        saved: The names of arguments and outputs to pass to `backward`.
        inputs: The names of the arguments, if `forward` has none.
        outputs: The names of the returned values; the first is `result` by default.
        gradients: The arguments in the order in which `backward` returns their gradients, if that order differs.
        nondifferentiable: Outputs without a gradient.
        double_backward: The gradient of `backward`, or True if `backward` consists of PyTorch operators.
        schema: With `out`, also make an operator in `torch.ops`, for torch.compile and torch.export.
        out: The `out` rules of that operator.

    Returns:
        The function.

    Raises:
        CallError: An argument is invalid, or the functions do not fit together.
        UnsupportedError: A second derivative is requested, but hidden outputs prevent it.
        ToolchainError: PyTorch is not installed.

    Example:
        square = ob.autograd(forward=lambda x: x * x, backward=lambda grad, x: 2 * x * grad, saved=("x",))
        x = torch.tensor([3.0], requires_grad=True)
        square(x).backward()
        print(x.grad)  # tensor([6.])
    """
    need_torch("autograd")
    _check_functions(forward, backward, double_backward)
    if schema is None and out is not None:
        raise CallError(f"autograd({name_of(forward)}): out= describes the outputs of an operator, and needs schema=")
    from opbridge.waist.schema import Schema

    declared = None if schema is None else Schema.parse(schema)
    pair = GradientPair.between(
        Callee.of(forward, names_of("inputs", inputs)),
        Callee.of(backward),
        saved=names_of("saved", saved) or (),
        outputs=names_of("outputs", outputs),
        gradients=names_of("gradients", gradients),
        nondifferentiable=names_of("nondifferentiable", nondifferentiable) or (),
        schema=declared,
    )
    return _function_of(pair, double_backward, declared, out)


def _check_functions(forward: object, backward: object, double_backward: object) -> None:
    """Raise CallError if one of the functions is none."""
    for role, function in (("forward", forward), ("backward", backward)):
        if not callable(function):
            raise CallError(f"autograd({role}=...) expects a function, got {type(function).__name__}")
    if not callable(double_backward) and not isinstance(double_backward, bool):
        raise CallError(
            "autograd(double_backward=...) expects a function, or True where PyTorch recorded what backward does; "
            f"got {type(double_backward).__name__}"
        )


def _function_of(
    pair: GradientPair, double_backward: Callable[..., object] | bool, declared: Schema | None, out: object
) -> Callable[..., object]:
    """Return the differentiable function of a pair, as an operator if a schema is declared."""
    if double_backward is not False and pair.hidden:
        raise UnsupportedError(
            f"{pair.title}: {', '.join(pair.hidden)} must also be differentiated for a second derivative; "
            "name them in outputs=, so that backward gets their gradients, or leave double_backward out"
        )
    if declared is not None:
        from opbridge.frameworks.torch.autograd_operators import operator

        return operator(pair, double_backward, declared, out)
    from opbridge.frameworks.torch.autograd_functions import differentiable

    return differentiable(pair, double_backward)


def need_torch(function: str) -> None:
    """Raise ToolchainError, naming the function that was called, if PyTorch is not installed."""
    framework = FRAMEWORKS["torch"]
    if not installed(framework):
        raise ToolchainError(
            f"{function}() is for PyTorch, which is not installed; install it with `{framework.install}`"
        )
