"""Kernels of other people's libraries that are written to MindSpore's attribute block, in NumPy and PyTorch."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import opbridge as ob
from opbridge.base.errors import CallError, KernelError, RuleError
from opbridge.build.sources.elf import DUAL_ABI, OLD_STRINGS, TAKES_BLOCK, attribute_block
from opbridge.waist.manifest import OpSpec
from opbridge.waist.op import Op

HERE = Path(__file__).parent
COMPAT = HERE.parents[1] / "src" / "opbridge" / "include" / "compat"
OLD = "-D_GLIBCXX_USE_CXX11_ABI=0"
FLAGS = {"old": (OLD,), "new": (), "old optimised": (OLD, "-O2"), "new optimised": ("-O2",)}

SCALE = "scale(Tensor x, *, float scale=1.0) -> Tensor"
LIVING = "living() -> Tensor"
DESCRIBE = (
    "describe(*, bool flag=True, int number=-7, float real=0.5, str text='a text of more than sixteen letters', "
    "int? maybe=None, int[] numbers=[1, 2, 3], float[] reals=[0.25, 4]) -> Tensor"
)
SPLIT = "split(Tensor x, *, int n, int? type=None) -> (Tensor head, Tensor tail)"


def compiled(source: str, folder: Path, *flags: str) -> Path:
    library = folder / f"{Path(source).stem}.so"
    command = ["g++", "-std=c++17", "-shared", "-fPIC", f"-I{COMPAT}", *flags, HERE / source, "-o", library]
    subprocess.run(command, check=True)
    return library


@pytest.fixture(scope="module", params=FLAGS)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("aot_kernels.cpp", tmp_path_factory.mktemp("aot"), *FLAGS[request.param])


@pytest.fixture(scope="module")
def dual_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("aot_dual_kernels.cpp", tmp_path_factory.mktemp("dual"), OLD)


@pytest.fixture
def make(library: Path) -> Callable[..., Op]:
    def build(symbol: str, schema: str, **rules: Any) -> Op:
        return ob.aot(f"{library}:{symbol}", schema=f"aot_{abs(hash(library)):x}::{schema}", **rules)

    return build


def f32(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


class TestCalls:
    def test_init_reads_attributes_and_asks_for_workspace(self, make: Callable[..., Op]) -> None:
        op = make("Scale", SCALE)
        np.testing.assert_array_equal(op(f32(2, 3), scale=2.0).ravel()[1:], [2, 4, 6, 8, 10])
        np.testing.assert_array_equal(op(torch.arange(4.0), scale=3.0)[1:], [3, 6, 9])
        assert op(f32(0), scale=2.0).shape == (0,)

    def test_init_runs_once_for_each_kind_of_call(self, make: Callable[..., Op]) -> None:
        op = make("Scale", SCALE)
        used = [
            op(f32(*shape), scale=scale).flat[0] for shape in ((5, 7), (7, 5)) for scale in (4.0, 5.0) for _ in "123"
        ]
        assert used == [1, 2, 3] * 4

    def test_shapes_that_always_change_do_not_fill_the_memory(self, make: Callable[..., Op]) -> None:
        op, living = make("Scale", SCALE), make("Living", LIVING, out={"shape": "[]", "dtype": "int64"})
        for size in range(1, 200):
            op(f32(size))
        assert 0 < living.numpy() <= 32

    def test_threads_do_not_share_a_state(self, make: Callable[..., Op]) -> None:
        op, x = make("Scale", SCALE), f32(100_000)
        failures: list[BaseException] = []

        def work() -> None:
            try:
                for _ in range(50):
                    np.testing.assert_array_equal(op(x, scale=2.0)[1:3], [2, 4])
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures

    def test_every_type_of_attribute(self, make: Callable[..., Op]) -> None:
        op = make("Describe", DESCRIBE, out={"shape": "[8]", "dtype": "float64"})
        assert list(op.numpy()) == [1, -7, 0.5, 35, 0, 0, 123, 4.25]
        changed = {"flag": False, "number": 2**40, "text": "", "maybe": 1, "numbers": [], "reals": [0.5]}
        assert list(op.numpy(**changed)) == list(op.torch(**changed)) == [0, 2**40, 0.5, 0, 1, 0, 0, 0.5]

    def test_lists_of_lists(self, make: Callable[..., Op]) -> None:
        schema = "row_sums(*, int[][] ints, float[][] floats) -> Tensor"
        op = make("RowSums", schema, out={"shape": "[5]", "dtype": "float64"})
        given: dict[str, Any] = {"ints": [[1, 2], [], [2**40]], "floats": [[0.5, 0.25], [4.0]]}
        assert list(op.numpy(**given)) == list(op.torch(**given)) == [3, 0, 2**40, 0.75, 4]
        for wrong in ([1, 2], [["a"]], "text", 1):
            with pytest.raises(CallError, match=r"argument 'ints' expects int\[\]\[\], got "):
                op.numpy(ints=wrong, floats=[])

    def test_the_other_block_of_mindspore(self, dual_library: Path) -> None:
        assert attribute_block(dual_library, True) == TAKES_BLOCK | DUAL_ABI | OLD_STRINGS
        schema = "dual::shift(Tensor x, *, float by, bool? twice=None, str text, int[] numbers) -> Tensor"
        op = ob.aot(f"{dual_library}:Shift", schema=schema, out="x")
        np.testing.assert_array_equal(op(f32(2), by=0.5, text="ab", numbers=[1]), [3.5, 4.5])
        np.testing.assert_array_equal(op(f32(2), by=0.5, twice=True, text="", numbers=[]), [1, 2])


class TestOutputs:
    """What <F>InferShape and <F>InferType say, where there is no out rule."""

    def test_one(self, make: Callable[..., Op]) -> None:
        op = make("Scale", SCALE, derivatives={"x": "grad * scale"})
        assert op(f32(2, 3)).shape == (2, 3)
        x = torch.ones(2, 3, requires_grad=True)
        op(x, scale=3.0).sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [[3.0] * 3] * 2

    def test_several(self, make: Callable[..., Op]) -> None:
        op = make("Split", SPLIT)
        head, tail = op(f32(5), n=2)
        assert (head.dtype, tail.dtype) == (np.float32, np.float64)
        assert (list(head), list(tail)) == ([0, 1], [2, 3, 4])
        assert [list(part) for part in op(torch.arange(5.0), n=5)] == [[0, 1, 2, 3, 4], []]

    def test_an_array_given_for_the_result_is_checked(self, make: Callable[..., Op]) -> None:
        op, x = make("Scale", SCALE), f32(3)
        out = np.empty(3, np.float32)
        assert op(x, out=out) is out
        with pytest.raises(CallError, match=r"'out' expects shape \[3\], got \[4\]"):
            op(x, out=np.empty(4, np.float32))

    def test_fake_tensors_and_compiled_programs(self, make: Callable[..., Op]) -> None:
        op = make("Split", SPLIT)
        head, tail = op(torch.empty(9, device="meta"), n=4)
        assert (head.shape, tail.shape, tail.dtype) == ((4,), (5,), torch.float64)

        def program(x: torch.Tensor) -> torch.Tensor:
            return op(x, n=2)[1] * 2

        compiled_program = torch.compile(program, backend="eager", fullgraph=True, dynamic=True)
        for size in (5, 6):
            x = torch.arange(float(size))
            torch.testing.assert_close(compiled_program(x), program(x))

    def test_a_rule_is_taken_before_the_library(self, make: Callable[..., Op]) -> None:
        op = make("Split", SPLIT, out=[{"shape": "[1]", "dtype": "x.dtype"}, {"shape": "[2]", "dtype": "float64"}])
        assert [part.shape for part in op(f32(5), n=3)] == [(1,), (2,)]

    def test_a_manifest_keeps_that_there_is_no_rule(self) -> None:
        spec = OpSpec.create(f"t::{SPLIT}", kernels={"cpu": "lib.so:Split"})
        assert "out" not in spec.fields()
        with pytest.raises(RuleError, match="needs an out rule"):
            OpSpec.create(f"t::{SPLIT}", kernels={"cpu": "split.cpp"})


class TestErrors:
    def test_init_fails(self, make: Callable[..., Op]) -> None:
        op = make("Scale", SCALE)
        with pytest.raises(KernelError, match=r"::scale: ScaleInit threw: a negative scale"):
            op(f32(2), scale=-1.0)
        with pytest.raises(KernelError, match=r"::scale: ScaleInit threw: a negative scale"):
            op(torch.ones(2), scale=-1.0)
        with pytest.raises(KernelError, match=r"ScaleInit returned 7 \(0 means success\)"):
            op(f32(2).astype(np.float64))
        assert op(f32(2))[1] == 1

    def test_inference_fails(self, make: Callable[..., Op]) -> None:
        op = make("Split", SPLIT)
        for x in (f32(3), torch.ones(3), torch.ones(3, device="meta")):
            with pytest.raises(KernelError, match=r"::split: SplitInferShape threw: there are not so many elements"):
                op(x, n=4)
        with pytest.raises(KernelError, match="SplitInferShape gives a negative size"):
            op(f32(3), n=-4)
        with pytest.raises(KernelError, match="SplitInferType gives 7, which is not an element type"):
            op(f32(3), n=1, type=7)

    def test_a_schema_with_another_number_of_outputs(self, make: Callable[..., Op]) -> None:
        two = make("Scale", "scale2(Tensor x, *, float scale=1) -> (Tensor, Tensor)")
        with pytest.raises(
            KernelError, match="ScaleInferShape does not return what the schema's 2 new outputs ask for"
        ):
            two(f32(2, 3))
        one = make("Split", "split1(Tensor x, *, int n=1) -> Tensor")
        with pytest.raises(
            KernelError, match="SplitInferShape does not return what the schema's 1 new outputs ask for"
        ):
            one(f32(2))

    @pytest.mark.parametrize("wanted", ["bool", "int", "float", "str", "ints", "floats", "rows", "real rows"])
    def test_an_attribute_of_another_type(self, make: Callable[..., Op], wanted: str) -> None:
        held = {"bool": "bool value=True", "int": "int value=1", "str": "str value='s'", "ints": "int[] value=[1]"}
        given = "str" if wanted not in ("str", "rows") else "ints"
        op = make("Ask", f"ask_{wanted.replace(' ', '_')}(Tensor x, *, str wanted, {held[given]}) -> ()")
        said = r"kernel Ask threw: it reads attribute 'value' as .*, but the call has a (string|list of ints)"
        with pytest.raises(KernelError, match=said):
            op(f32(1), wanted=wanted)

    def test_an_attribute_that_the_schema_has_not(self, make: Callable[..., Op]) -> None:
        op = make("Ask", "ask_nothing(Tensor x, *, str wanted, int value=1) -> ()")
        with pytest.raises(KernelError, match="it reads attribute 'nothing', and the schema has only wanted, value"):
            op(f32(1), wanted="nothing")
        op = make("Scale", "scale3(Tensor x) -> Tensor", out="x")
        with pytest.raises(KernelError, match="it reads attribute 'scale', and the schema has no attributes"):
            op(torch.ones(2))

    def test_an_attribute_that_is_none(self, make: Callable[..., Op]) -> None:
        op = make("Scale", "scale4(Tensor x, *, float? scale=None) -> Tensor")
        with pytest.raises(KernelError, match="attribute 'scale' is None; ask HasAttr before reading it"):
            op(f32(2))

    def test_a_type_is_the_inputs_where_nothing_says_it(self, make: Callable[..., Op]) -> None:
        op = make("Doubled", "doubled(Tensor x, Tensor y) -> Tensor")
        assert op(f32(2, 3), f32(2, 3)).tolist() == [[0, 2, 4], [6, 8, 10]]
        assert op.torch(torch.ones(2), torch.ones(2)).dtype is torch.float32
        with pytest.raises(KernelError, match="its inputs are not of one element type"):
            op(f32(2), np.ones(2))

    def test_no_rule_and_no_functions_that_would_say(self, make: Callable[..., Op]) -> None:
        op = make("Describe", DESCRIBE)
        with pytest.raises(KernelError, match=r"needs an out rule: its library has no DescribeInferShape"):
            op.numpy()


def test_a_source_says_what_its_outputs_are_like_as_a_library_does(tmp_path: Path) -> None:
    (tmp_path / "rows.cc").write_text("""
#include <custom_aot_extra.h>

extern "C" std::vector<int64_t> RowsInferShape(int*, int64_t** shapes, AotExtra*) { return {shapes[0][0]}; }

extern "C" int Rows(int, void** params, int*, int64_t** shapes, const char**, void*, void*) {
  const auto* x = static_cast<const float*>(params[0]);
  for (int64_t row = 0; row < shapes[0][0]; ++row) static_cast<float*>(params[1])[row] = x[row * shapes[0][1]];
  return 0;
}
""")
    (tmp_path / "ops.yaml").write_text("""
namespace: aot_source
ops:
  - func: rows(Tensor x) -> Tensor
    kernels: {cpu: "rows.cc:Rows"}
""")
    rows = ob.load(tmp_path / "ops.yaml").rows
    assert rows(np.arange(6, dtype=np.float32).reshape(2, 3)).tolist() == [0, 3]
