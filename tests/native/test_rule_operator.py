"""Attributes as bytes, which programs carry: what was written is read back, and whatever else comes is refused."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from opbridge._core import RuleOperator, infer_target, load_kernel
from opbridge.base.errors import CallError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, build
from opbridge.native.plan import encode
from opbridge.waist.manifest import OpSpec
from opbridge.waist.rules import DTYPE_CODES

SCHEMA = (
    "t::f(Tensor x, Tensor?[] more, int i=1, float f=0.5, bool b=False, int[2] pair=3, bool[] flags=[], "
    "int[][]? rows=None, str s='', Scalar number=2, int? maybe=None, ScalarType dtype=float) -> Tensor"
)
VALUES: dict[str, Any] = {
    "i": -7,
    "f": 1.5,
    "b": True,
    "pair": (1, 2),
    "flags": (True, False, True),
    "rows": ((1, 2), (), (3,)),
    "s": "eight by",
    "number": 2.5,
    "maybe": None,
    "dtype": "float16",
}


@pytest.fixture(scope="module")
def operator() -> RuleOperator:
    return RuleOperator(encode([OpSpec.create(SCHEMA, kernels={"cpu": "f.cpp"}, out="x")]), 0)


def test_what_was_written_is_read_back(operator: RuleOperator) -> None:
    assert operator.values(operator.attributes(VALUES)) == VALUES


def test_bytes_that_are_too_few_or_too_many(operator: RuleOperator) -> None:
    """Each was read beyond its end."""
    whole = operator.attributes(VALUES)
    for damaged in (*(whole[:end] for end in range(len(whole))), whole + b"\0", whole + bytes(8)):
        with pytest.raises(CallError, match="t::f: the bytes of its attributes are damaged: expected"):
            operator.values(damaged)


@pytest.mark.parametrize("number", [-1, 0, 1, 2, 3, 2**31 - 1, 2**31, 2**40])
def test_no_number_in_them_leads_elsewhere(operator: RuleOperator, number: int) -> None:
    """As a kind, a count or the length of a row; what is a value may be any."""
    whole = operator.attributes(VALUES)
    for place in range(0, len(whole), 8):
        changed = whole[:place] + struct.pack("<q", number) + whole[place + 8 :]
        try:
            read = operator.values(changed)
        except (CallError, UnicodeDecodeError):
            continue
        assert read.keys() == VALUES.keys()


def test_reading_a_value_may_change_the_dict(operator: RuleOperator) -> None:
    class Emptying:
        def __index__(self) -> int:
            values.clear()
            return 5

    values: dict[str, Any] = {"pair": [Emptying(), Emptying()]}
    assert operator.values(operator.attributes(values))["pair"] == (5, 5)


KERNEL = """#include <opbridge/kernel.h>
void g(ob::In<float> x, ob::Optional<ob::In<float>> y, ob::Out<float> out) { out[0] = x[0]; }
OB_KERNEL(g)
"""
FLOAT32 = DTYPE_CODES["float32"]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes a Target for kinds of tensors."""
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "g.cpp").write_text(KERNEL)
    library = build(BuildRequest((folder / "g.cpp",), "g.so", flags=("-O0",)), Cache(folder / "cache")).path
    spec = OpSpec.create("t::g(Tensor x, Tensor? y=None) -> Tensor", kernels={"cpu": "g.cpp"}, out="x")
    operator, kernel = RuleOperator(encode([spec]), 0), load_kernel(str(library), "g")
    return lambda kinds: operator.target(operator.attributes({}), kinds, kernel)


@pytest.mark.parametrize("kinds", [(None, None), (-1, None), (10_000, None), (2**40, None), ("7", None)])
def test_kinds_that_no_tensor_has(make: Any, kinds: Any) -> None:
    with pytest.raises(CallError, match="t::g: argument 'x' expects the code of an element type"):
        make(kinds)


def test_a_shape_for_each_input(make: Any) -> None:
    assert infer_target(make((FLOAT32, None)), [(2, 3)]) == [((2, 3), FLOAT32)]
    for shapes in ([], [(2,), (3,)]):
        with pytest.raises(CallError, match=f"infer_target expects 1 shapes, got {len(shapes)}"):
            infer_target(make((FLOAT32, None)), shapes)
