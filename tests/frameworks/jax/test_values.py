"""What an operator computes in JAX, called as it is and inside of jax.jit."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import opbridge as ob
from opbridge.build.toolchains import BuildRequest, build
from opbridge.frameworks import FRAMEWORKS, framework_of
from opbridge.frameworks.jax.formula_functions import DTYPES, FUNCTIONS
from opbridge.frameworks.numpy.adapter import FUNCTIONS as NUMPY_FUNCTIONS
from opbridge.waist.op import OpLibrary
from opbridge.waist.rules import ARRAY_FUNCTIONS
from opbridge.waist.rules import DTYPES as NAMES

Run = Callable[..., Any]


@contextlib.contextmanager
def wide_types() -> Iterator[None]:
    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", False)


@pytest.fixture
def x64() -> Iterator[None]:
    with wide_types():
        yield


@pytest.fixture(params=["eager", "jit"])
def run(request: pytest.FixtureRequest) -> Run:
    """Calls a function with arrays, as it is or compiled."""
    return lambda function, *arrays: (jax.jit(function) if request.param == "jit" else function)(*arrays)


def same(got: Any, expected: Any) -> None:
    np.testing.assert_array_equal(np.asarray(got), np.asarray(expected), strict=True)


def test_arrays_and_tracers_are_jaxs() -> None:
    seen: list[Any] = []
    jax.jit(lambda x: seen.append(framework_of(type(x))))(1.0)
    assert [framework_of(type(jnp.ones(2))), *seen] == [FRAMEWORKS["jax"]] * 2


def test_an_op_called_with_arrays_gives_an_array(lib: OpLibrary, run: Run) -> None:
    x, y = jnp.arange(3.0), jnp.ones(3)
    same(run(lambda a, b: lib.scaled_add(a, b, alpha=2.0), x, y), np.float32([2, 3, 4]))
    same(run(lambda a, b: lib.scaled_add.jax(a, y=b), x, y), np.float32([1, 2, 3]))


def test_the_view_is_a_function_with_a_name_and_a_signature(lib: OpLibrary) -> None:
    view = lib.scaled_add.jax
    assert view is lib.scaled_add.jax
    assert view.__name__ == "scaled_add"
    assert view.__doc__ == str(lib.scaled_add.schema)
    assert list(inspect.signature(view).parameters) == ["x", "y", "alpha"]


def test_numpy_arrays_are_constants_of_a_call(lib: OpLibrary, run: Run) -> None:
    y = np.ones(3, np.float32)
    same(run(lambda a: lib.product.jax(a, y), jnp.arange(3.0)), np.float32([0, 1, 2]))
    same(lib.product.jax(y, y), y)


@pytest.mark.parametrize("name", sorted(set(NAMES)))
def test_every_element_type(lib: OpLibrary, run: Run, x64: None, name: str) -> None:
    dtype = ml_dtypes.bfloat16 if name == "bfloat16" else np.dtype(name)
    x = np.array([[0, 1], [1, 0]]).astype(dtype)
    same(run(lib.identity, jnp.asarray(x)), x)


def elements(dtype: Any) -> st.SearchStrategy[np.ndarray[Any, Any]]:
    shapes = array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
    return shapes.flatmap(lambda shape: arrays(dtype, shape, elements=st.floats(-100, 100, width=16)))


@given(st.sampled_from([np.float16, np.float32]).flatmap(elements), st.floats(-2, 2, width=16))
def test_any_shape_gives_what_numpy_gives(lib: OpLibrary, x: np.ndarray[Any, Any], alpha: float) -> None:
    same(lib.scaled_add(jnp.asarray(x), jnp.asarray(x), alpha=alpha), lib.scaled_add(x, x, alpha=alpha))


def test_attributes_of_every_kind(lib: OpLibrary, run: Run, x64: None) -> None:
    x = jnp.ones(2)
    plain = run(lambda a: lib.attributes(a), x)
    same(plain, [2.0, 3, 0.5, 1, 4, 1, 2, 0, 0, 0, 0, 11, -1, 1, 1])
    full = run(
        lambda a: lib.attributes(
            a,
            np.int8(-1),
            2,
            flag=np.False_,
            text="ä",
            pair=7,
            reals=[math.inf, 2],
            flags=(True, False),
            type=jnp.bfloat16,
            maybe=np.int32(5),
            number=2.5,
        ),
        x,
    )
    same(full, [2.0, -1, 2, 0, 2, 7, 7, 2, math.inf, 2, 1, 10, 5, 0, 2.5])


def test_a_number_that_is_an_array_is_an_attribute_where_it_is_known(lib: OpLibrary) -> None:
    same(lib.scaled_add(jnp.ones(2), jnp.ones(2), alpha=jnp.float32(2)), np.float32([3, 3]))


def test_attributes_may_be_static_arguments(lib: OpLibrary) -> None:
    scaled = jax.jit(lib.scaled_add.jax, static_argnames="alpha")
    same(scaled(jnp.ones(2), jnp.ones(2), alpha=4.0), np.float32([5, 5]))


def test_optional_tensors_and_lists(lib: OpLibrary, run: Run) -> None:
    x, ones = jnp.zeros((2, 3)), jnp.ones(3)
    same(run(lambda a: lib.add_bias(a), x), np.zeros((2, 3), np.float32))
    same(run(lambda a, b: lib.add_bias(a, b), x, ones), np.ones((2, 3), np.float32))
    same(run(lambda *xs: lib.pile(xs), ones, 2 * ones), np.float32([[1, 1, 1], [2, 2, 2]]))
    same(run(lambda a: lib.sum_present(a, [None, a, None]), ones), np.full(3, 2, np.float32))
    same(run(lambda a: lib.weighted_sum([a, a], [2, 3.0]), ones), np.full(3, 5, np.float32))


def test_several_outputs_are_a_tuple(lib: OpLibrary, run: Run) -> None:
    sine, cosine = run(lib.sine_cosine, jnp.ones(2))
    np.testing.assert_allclose(sine, np.sin(np.ones(2)), rtol=1e-6)
    np.testing.assert_allclose(cosine, np.cos(np.ones(2)), rtol=1e-6)


def test_other_shapes_and_types(lib: OpLibrary, run: Run) -> None:
    x = jnp.arange(6.0).reshape(2, 3)
    same(run(lib.matrix_product, x, x.T), np.asarray(x) @ np.asarray(x).T)
    same(run(lib.row_sums, x), np.float32([3, 12]))
    same(run(lambda a: lib.windows(a, 2), x), np.float32([[[0, 1], [1, 2]], [[3, 4], [4, 5]]]))
    value, place = run(lib.largest, x)
    same(value, np.float32([2, 5]))
    same(place, np.int32([2, 2]))  # int64, as JAX narrows its own integers


def test_wide_integers_stay_wide_where_jax_has_them(lib: OpLibrary, run: Run, x64: None) -> None:
    same(run(lib.largest, jnp.ones((2, 3)))[1], np.int64([0, 0]))


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_no_dimensions_and_no_elements(lib: OpLibrary, run: Run, shape: tuple[int, ...]) -> None:
    same(run(lib.product, jnp.ones(shape), jnp.ones(shape)), np.ones(shape, np.float32))


def test_writing_operators_return_the_new_values(lib: OpLibrary, run: Run) -> None:
    x, y = jnp.ones(3), jnp.arange(3.0)
    new = np.float32([1, 3, 5])
    same(run(lambda a, b: lib.scaled_add_(a, b, alpha=2.0), x, y), new)
    same(run(lambda a, b: lib.scaled_add_quietly_(a, b, alpha=2.0), x, y), new)
    same(run(lambda a, b: lib["scaled_add.out"](a, b, alpha=2.0, out=jnp.zeros(3)), x, y), new)
    first, second = run(lib.swap_, x, y)
    same(first, y)
    same(second, x)
    same(x, np.ones(3, np.float32))  # an array of JAX does not change


def test_a_donated_array_is_written_in_place(lib: OpLibrary) -> None:
    x = jnp.ones(1000)
    place = x.unsafe_buffer_pointer()
    result = jax.jit(lib.square_.jax, donate_argnums=0)(x)
    assert result.unsafe_buffer_pointer() == place
    assert x.is_deleted()


def test_an_operator_without_tensors(lib: OpLibrary, x64: None) -> None:
    same(lib.count_up.jax(3, start=1.0), [1.0, 2, 3])
    same(jax.jit(lambda: lib.count_up.jax(2))(), [0.0, 1])


def test_an_operator_that_returns_nothing_runs_all_the_same(lib: OpLibrary, run: Run, x64: None) -> None:
    run(lambda a: (lib.note(a), a)[1], jnp.full(2, 7.0)).block_until_ready()
    same(lib.last_note.jax(), 7.0)


def test_a_library_that_says_itself_what_its_outputs_are(kernels: Path, tmp_path: Path, run: Run, x64: None) -> None:
    tests = kernels.parent
    headers = tests.parent / "src" / "opbridge" / "include" / "compat"
    library = build(BuildRequest((tests / "native" / "aot_kernels.cpp",), "aot.so", include_dirs=(headers,))).path
    schema = "jaxaot::split(Tensor x, *, int n, int? type=None) -> (Tensor head, Tensor tail)"
    split = ob.aot(f"{library}:Split", schema=schema)
    head, tail = run(lambda x: split(x, n=2), jnp.arange(5, dtype=jnp.float32))
    same(head, np.float32([0, 1]))
    same(tail, np.float64([2, 3, 4]))


def test_a_program_holds_one_readable_call(lib: OpLibrary) -> None:
    x = jnp.ones(3)
    text = jax.jit(lambda a: lib.scaled_add(a, a, alpha=2.0)).lower(x).as_text()
    assert text.count("stablehlo.custom_call @opbridge") == 1
    assert "obtest::scaled_add" in text
    assert "alpha" in text


MATRIX = np.array([[0.25, -0.5, 0.75], [0.1, 0.2, -0.3]], np.float32)
POSITIVE = np.abs(MATRIX) + 1
CALLS: dict[str, tuple[Any, ...]] = {
    "acosh": (POSITIVE,),
    "atan2": (MATRIX, POSITIVE),
    "pow": (POSITIVE, MATRIX),
    "tensordot": (MATRIX, MATRIX.T, 1),
    "where": (MATRIX > 0, MATRIX, POSITIVE),
    "matmul": (MATRIX, MATRIX.T),
    "clip": (MATRIX, -0.25, 0.25),
    "reshape": (MATRIX, (3, 2)),
    "broadcast_to": (MATRIX, (2, 2, 3)),
    "sum_to": (np.ones((4, 2, 3), np.float32), (2, 1)),
    "permute_dims": (MATRIX, (1, 0)),
    "expand_dims": (MATRIX, 1),
    "squeeze": (MATRIX[:, :1], 1),
    "roll": (MATRIX, 1, 1),
    "take": (MATRIX, np.array([2, 0], np.int32), 1),
    "concat": ([MATRIX, MATRIX], 1),
    "stack": ([MATRIX, MATRIX], 1),
    "full_like": (MATRIX, 7),
    "cumulative_sum": (MATRIX, 0),
    **dict.fromkeys(("sum", "prod", "mean", "max", "min", "all", "any", "argmax", "argmin"), (MATRIX, 1, True)),
    **dict.fromkeys(("var", "std"), (MATRIX, 0, 1)),
    **dict.fromkeys(("flip", "tril", "triu"), (MATRIX,)),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), (MATRIX > 0, POSITIVE > 1.5)),
    "logical_not": (MATRIX > 0,),
    **dict.fromkeys(("real", "imag", "conj"), (MATRIX + 1j * POSITIVE,)),
    **dict.fromkeys(("sqrt", "rsqrt", "log", "log1p", "log2", "log10"), (POSITIVE,)),
}
DTYPE_CALLS = {"zeros": ((2, 3),), "ones": ((2, 3),), "astype": (MATRIX,)}


@pytest.mark.parametrize("name", ARRAY_FUNCTIONS)
def test_functions_of_a_formula_do_what_numpys_do(name: str) -> None:
    if name in DTYPE_CALLS:
        got = FUNCTIONS[name](*DTYPE_CALLS[name], dtype=DTYPES["float16"])
        expected = NUMPY_FUNCTIONS[name](*DTYPE_CALLS[name], dtype=np.float16)
    else:
        two = [parameter.name for parameter in ARRAY_FUNCTIONS[name].parameters] == ["x1", "x2"]
        args = CALLS.get(name, (MATRIX, POSITIVE) if two else (MATRIX,))
        got, expected = FUNCTIONS[name](*args), np.asarray(NUMPY_FUNCTIONS[name](*args))
    np.testing.assert_allclose(got, expected, rtol=2e-6, atol=1e-7)
    wide = {np.dtype(np.int64): np.dtype(np.int32), np.dtype(np.float64): np.dtype(np.float32)}
    assert got.dtype == wide.get(expected.dtype, expected.dtype)


def test_every_function_and_element_type_of_a_formula_is_there() -> None:
    assert FUNCTIONS.keys() == ARRAY_FUNCTIONS.keys()
    assert list(DTYPES) == list(NAMES)
