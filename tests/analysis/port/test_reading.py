"""What kernels show of themselves, what users say of dimensions, and where arrays part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbridge.analysis.port.differences import difference
from opbridge.analysis.port.shapes import input_form, output_shapes, sizes
from opbridge.analysis.port.signatures import guess
from opbridge.base.errors import InputError
from opbridge.verify.check.arrays import Array
from opbridge.waist.schema import Schema

MATMUL = Schema.parse("mine::matmul(Tensor x, Tensor y, Tensor? bias) -> Tensor")


@pytest.mark.parametrize(
    ("parameters", "schema", "dtypes"),
    [
        ("ob::In<T> x, ob::Out<T> out", "f(Tensor x) -> Tensor", ("x.dtype",)),
        ("ob::In<float> x, ob::Out<int32_t> which", "f(Tensor x) -> Tensor", ("int32",)),
        (
            "ob::In<T> x, ob::Optional<ob::In<T>> y, double a, ob::Out<T> o",
            "f(Tensor x, Tensor? y, float a) -> Tensor",
            ("x.dtype",),
        ),
        (
            "const ob::List<ob::In<T>>& xs, ob::In<T> y, ob::Out<T> o",
            "f(Tensor[] xs, Tensor y) -> Tensor",
            ("y.dtype",),
        ),
        ("ob::InOut<T> x, int64_t n, ob::Context context", "f(Tensor(a!) x, int n) -> ()", ()),
        (
            "ob::In<T> x, ob::Ints s, ob::Out<T> a, ob::Out<T> b",
            "f(Tensor x, int[] s) -> (Tensor, Tensor)",
            ("x.dtype",) * 2,
        ),
    ],
)
def test_a_schema_is_read_off_parameters(tmp_path: Path, parameters: str, schema: str, dtypes: tuple[str, ...]) -> None:
    source = tmp_path / "f.cu"
    source.write_text(f"template <class T>\nvoid f({parameters}) {{}}\nOB_KERNEL(f, float)\n")
    found = guess(source, "f")
    assert str(Schema.parse(found.schema)) == f"port_check::{schema}"
    assert found.dtypes == dtypes


def test_what_is_no_type_of_the_headers_is_asked_for(tmp_path: Path) -> None:
    source = tmp_path / "f.cu"
    source.write_text("void f(ob::In<float> x, Mine mode) {}\nOB_KERNEL(f)\n")
    with pytest.raises(InputError, match="'Mine mode'; say by --schema"):
        guess(source, "f")
    with pytest.raises(InputError, match="shows no parameters of g"):
        guess(source, "g")


def test_dimensions_by_name_and_by_number() -> None:
    form = input_form("m k, k 8, 8 -> m 8", MATMUL)
    assert form == {"x": ("m", "k"), "y": ("k", "8"), "bias": ("8",)}
    assert output_shapes("m k, k 8, 8 -> m 8", MATMUL) == ("[x.shape[0], 8]",)
    assert sizes(form, [3, 4, 5]) == [3, 4, 8]


def test_dimensions_may_be_sums_and_products() -> None:
    concat = Schema.parse("mine::concat(Tensor x, Tensor y) -> Tensor")
    form = input_form("m p 3, m q 3 -> m p+q 3", concat)
    assert output_shapes("m p 3, m q 3 -> m p+q 3", concat) == ("[x.shape[0], x.shape[1]+y.shape[1], 3]",)
    assert sizes(form, [2, 5, 7]) == [2, 5, 3, 7]
    halved = Schema.parse("mine::glu(Tensor x) -> Tensor")
    assert output_shapes("m 2*n -> m n", halved) == ("[x.shape[0], ceil_div(x.shape[1], 2)]",)
    assert sizes(input_form("m 2*n -> m n", halved), [3, 4]) == [3, 8]


def test_what_is_written_in_place_needs_no_output() -> None:
    assert output_shapes("m n, n ->", Schema.parse("mine::add_(Tensor(a!) x, Tensor row) -> ()")) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m k, k n-1, n -> m n", "'n-1' in .* is not a dimension"),
        ("m k, k n, n", "does not say inputs -> outputs"),
        ("m k, k n -> m n", "is for 2 inputs, and matmul takes 3"),
        ("m, m, m -> m, m", "is for 2 outputs, and matmul has 1"),
        ("m, m, m -> n", "'n' in .* is a dimension of no input"),
    ],
)
def test_dimensions_that_do_not_fit_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        output_shapes(text, MATMUL)


@given(st.integers(0, 23), st.sampled_from(["float32", "int32", "float16"]))
def test_the_first_element_that_differs_is_found(place: int, dtype: str) -> None:
    original = Array.of(np.arange(24).reshape(4, 6), dtype)
    port = Array.of(original.values.copy(), dtype)
    assert difference([original], [port], None) is None
    port.values.reshape(-1)[place:] += 2
    parted = difference([original, original], [original, port], None)
    assert parted is not None
    assert (parted.output, parted.index, parted.differing) == (1, divmod(place, 6), 24 - place)
    assert difference([original], [port], 1.0) is None


def test_what_is_no_number_differs_from_numbers_alone() -> None:
    original, port = (Array.of(np.array(values), "float32") for values in ([1, np.nan, np.inf], [1, np.nan, 2]))
    parted = difference([original], [port], 0.5)
    assert parted is not None
    assert (parted.index, parted.differing, parted.largest) == ((2,), 1, None)
