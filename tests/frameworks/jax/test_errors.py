"""What a wrong call and a failing kernel say in JAX: while the program is traced wherever that can be known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from opbridge.base.errors import CallError, KernelError, OpbridgeError, UnsupportedError
from opbridge.waist.op import OpLibrary

X, Y = jnp.ones((2, 3)), jnp.ones((2, 3))

WRONG: dict[str, tuple[Callable[[OpLibrary], Any], type[OpbridgeError], str]] = {
    "an argument is missing": (lambda lib: lib.product(X), CallError, "argument 'y' is missing"),
    "one argument too many": (lambda lib: lib.product(X, Y, X), CallError, "2 arguments go by position, got 3"),
    "a keyword by position": (lambda lib: lib.scaled_add(X, Y, 2.0), CallError, "write alpha=... for 'alpha'"),
    "an unknown keyword": (lambda lib: lib.scaled_add(X, Y, alhpa=2.0), CallError, "did you mean 'alpha'"),
    "an argument twice": (lambda lib: lib.scaled_add(X, Y, y=Y), CallError, "'y' was passed twice"),
    "None for a tensor": (lambda lib: lib.product(X, None), CallError, "'y' expects a jax.Array, got NoneType"),
    "text for a number": (lambda lib: lib.scaled_add(X, Y, alpha="two"), CallError, "'alpha' expects float, got str"),
    "an array for a number": (lambda lib: lib.scaled_add(X, Y, alpha=X), CallError, "'alpha' expects float, got jax"),
    "a number for a tensor": (lambda lib: lib.product(X, 2.0), CallError, r"write jax.numpy.asarray\(2.0, dtype"),
    "a list for a tensor": (lambda lib: lib.product(X, [X]), CallError, "'y' expects a jax.Array, got list"),
    "a tensor for a list": (lambda lib: lib.pile(X), CallError, r"'xs' expects a list of jax.Array.*write \[x\]"),
    "None in a list": (lambda lib: lib.pile([X, None]), CallError, r"'xs\[1\]' expects a jax.Array, got NoneType"),
    "a type without kernel": (lambda lib: lib.product(X.astype(int), X.astype(int)), CallError, "'x' is int32; the"),
    "two types": (lambda lib: lib.product(X, Y.astype(jnp.float16)), CallError, "'y' is float16 but 'x' is float32"),
    "a type kernels have not": (
        lambda lib: lib.identity(X.astype(jnp.float8_e4m3fn)),
        CallError,
        "'x' has elements of type float8_e4m3fn, which kernels do not take",
    ),
    "a random key": (lambda lib: lib.identity(jax.random.key(0)), CallError, "'x' has elements of type key"),
    "shapes that do not pair": (
        lambda lib: lib.product(X, jnp.ones(3)),
        CallError,
        r"'y' has shape \[3\], expected \[2, 3\]",
    ),
    "shapes that do not broadcast": (lambda lib: lib.broadcast_add(X, jnp.ones(4)), CallError, "broadcast"),
    "a rule that needs more": (lambda lib: lib.row_sums(jnp.ones(())), CallError, "give no shape or dtype"),
    "a result of 64 bits": (lambda lib: lib.attributes(X), UnsupportedError, "float64.*jax_enable_x64"),
    "an array of 64 bits": (
        lambda lib: lib.product.jax(X, np.ones((2, 3))),
        CallError,
        "'y' is a NumPy array of float64.*jax_enable_x64",
    ),
    "an array of NumPy before one of JAX": (
        lambda lib: lib.product(np.ones((2, 3)), X),
        CallError,
        "'y' is a jax.*call op.jax",
    ),
}


@pytest.mark.parametrize(("call", "kind", "message"), WRONG.values(), ids=WRONG.keys())
def test_wrong_calls_are_named(
    lib: OpLibrary, call: Callable[[OpLibrary], Any], kind: type[OpbridgeError], message: str
) -> None:
    with pytest.raises(kind, match=rf"(?s)obtest::\w+.*{message}"):
        call(lib)


def test_the_same_while_a_program_is_traced(lib: OpLibrary) -> None:
    with pytest.raises(CallError, match="obtest::product: argument 'y' has shape"):
        jax.make_jaxpr(lib.product.jax)(X, jnp.ones(3))
    with pytest.raises(CallError, match="obtest::product: argument 'y' is float16 but 'x' is float32"):
        jax.jit(lambda a: lib.product(a, a.astype(jnp.float16)))(X)


def test_a_traced_attribute_says_what_to_do(lib: OpLibrary) -> None:
    message = (
        r"obtest::scaled_add: argument 'alpha' \(float\) expects a constant, got float32\[\] that is traced; "
        r"pass a Python number, mark the argument static \(static_argnames of jax.jit\), or declare 'alpha' as a Tensor"
    )
    with pytest.raises(CallError, match=message):
        jax.jit(lambda a, alpha: lib.scaled_add(a, a, alpha=alpha))(X, 2.0)
    with pytest.raises(CallError, match=r"'pair' \(int\[2\]\) expects a constant"):
        jax.jit(lambda a, n: lib.attributes(a, pair=[1, n]))(X, 2)


def test_strangers_are_named(lib: OpLibrary) -> None:
    torch = pytest.importorskip("torch")
    message = r"'y' expects a jax.Array, got torch.Tensor; the tensors .* write jax.numpy.asarray\(y\)"
    with pytest.raises(CallError, match=message):
        lib.product(X, torch.ones(2, 3))


FAILING: dict[str, tuple[str, str]] = {
    "throws": ("throws", "the tank is empty"),
    "throws a number": ("throws_number", "an exception that is not a std::exception was thrown"),
    "returns a number": ("returns_seven", "the kernel returned 7"),
    "checks": ("checks", r"too small, \[2, 3\]"),
    "throws on another thread": ("throws_on_pool", "the last piece failed"),
    "somebody else's that returns": ("bare_returns_seven", "returned 7"),
    "somebody else's that throws": ("bare_throws", "straight through"),
    "with a message that is no text": ("garbles", "no .? text"),
}


@pytest.mark.parametrize(("name", "message"), FAILING.values(), ids=FAILING.keys())
def test_a_failing_kernel_is_an_error_with_its_words(lib: OpLibrary, name: str, message: str) -> None:
    for _ in range(3):
        with pytest.raises(KernelError, match=f"^obtest::{name}: .*{message}"):
            lib[name](X)
    with pytest.raises(jax.errors.JaxRuntimeError, match=f"obtest::{name}: .*{message}"):
        jax.jit(lambda a: lib[name](a) + 1)(X).block_until_ready()
    np.testing.assert_array_equal(lib.product(X, X), X)  # and life goes on


def test_a_platform_without_kernel_is_named_when_a_program_is_made_for_it(lib: OpLibrary) -> None:
    for platform, message in (("cuda", "has no kernel for cuda; it has kernels for cpu"), ("tpu", "no kernel for tpu")):
        with pytest.raises(KernelError, match=f"obtest::product {message}|obtest::product has {message}"):
            export.export(jax.jit(lib.product.jax), platforms=[platform])(X, X)
