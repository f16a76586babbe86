"""opbridge/math.h: as exact as it says, vector code as it says, and what std::exp and its kin are in a kernel."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers.compilers import COMPILERS

from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, build, host
from opbridge.cli import main

FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math")
pytestmark = pytest.mark.optimized
TARGETS = ("native", "x86-64-v3") if os.uname().machine == "x86_64" else ("native",)
UNARY = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan"),
    *("asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "cbrt"),
)
BINARY = ("pow", "atan2", "hypot")


@pytest.mark.cases(1)
@pytest.mark.parametrize("target", [(), ("-march=native",)], ids=["any machine", "this machine"])
def test_two_units_in_the_last_place(build: Callable[..., Path], target: tuple[str, ...]) -> None:
    """Of floats all over their range, denormals and NaNs among them; `make math` takes every one."""
    made = build("math_accuracy.cpp", *FLAGS, *target)
    lines = subprocess.run([made, "99991", "0", "0xffffffff"], capture_output=True, text=True, check=True).stdout
    functions = set()
    for line in lines.splitlines():
        name, type_, worst, x, y, wrong = line.split()
        functions.add(name)
        assert float(worst) <= 2, f"{name} of {type_} is {worst} units off at {x}, {y}"
        assert int(wrong) == 0, f"{name} of {type_} has another sign, or NaN, in {wrong} places"
    assert functions == {*UNARY, "sigmoid", "rsqrt", *BINARY}


def test_the_documentation_has_the_worst_of_each() -> None:
    page = (Path(__file__).parents[2] / "docs" / "math.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+).* \| ([\d.]+) \|$", page, re.MULTILINE)
    assert [name for name, _, _ in rows] == [*UNARY, "sigmoid", "rsqrt", *BINARY]
    assert all(float(worst) <= 2 for _, *both in rows for worst in both)


def test_the_double_that_is_nearest_to_a_right_angle(compiled: Callable[..., ctypes.CDLL]) -> None:
    library = compiled('extern "C" double answer(double x) { return ob::cos(x); }')
    library.answer.restype, library.answer.argtypes = ctypes.c_double, [ctypes.c_double]
    assert library.answer(6381956970095103.0 * 2.0**797) == pytest.approx(-4.68716592425462761112e-19, rel=3e-16)


def vectorised(log: str) -> set[int]:
    """The lines of a source whose loops the compiler says are vector code."""
    return {int(line) for line in re.findall(r":(\d+):\d+: (?:optimized|remark): .*vectorized", log)}


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def compiled(tmp_path: Path, cache: Cache) -> Callable[..., ctypes.CDLL]:
    def make(text: str, *defines: tuple[str, str]) -> ctypes.CDLL:
        source = tmp_path / "functions.cpp"
        source.write_text(f"#include <opbridge/kernel.h>\n#include <cmath>\n{text}\n")
        return ctypes.CDLL(str(build(BuildRequest((source,), "functions.so", defines=defines), cache).path))

    return make


@pytest.mark.cases(1)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_loop_around_any_of_them_is_vector_code(
    tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch, target: str, compiler: str
) -> None:
    monkeypatch.setenv("CXX", compiler)
    monkeypatch.setenv("OPBRIDGE_MARCH", target)
    calls = [
        *((f"ob::{name}(x[i])", type_) for name in (*UNARY, "sigmoid", "rsqrt") for type_ in ("float", "double")),
        *((f"ob::{name}(x[i], out[i])", type_) for name in BINARY for type_ in ("float", "double")),
        *((f"std::{name}(x[i])", type_) for name in UNARY for type_ in ("float", "double")),
        *((f"{name}f(x[i])", "float") for name in UNARY),
        ("x[i] > 0 ? x[i] : std::exp(x[i]) - 1", "float"),
        ("std::pow(x[i], 2.f)", "float"),
    ]
    lines = ["#include <cmath>", "#include <opbridge/kernel.h>"]
    for k, (call, type_) in enumerate(calls):
        x, out = f"const {type_}* __restrict x", f"{type_}* __restrict out"
        # No two alike, or g++ would make one of them.
        lines.append(f"void f{k}({x}, {out}, long n) {{ for (long i = 0; i < n; ++i) out[i] = {k} + ({call}); }}")
    source = tmp_path / "loops.cpp"
    source.write_text("\n".join(lines))
    report = "-Rpass=loop-vectorize" if "clang" in host.find()[0] else "-fopt-info-vec-optimized"
    log = build(BuildRequest((source,), "loops.so", flags=(report,)), cache).log
    scalar = set(range(3, 3 + len(calls))) - vectorised(log)
    assert not [calls[line - 3] for line in sorted(scalar)]


def test_what_a_source_has_of_cmath(compiled: Callable[..., ctypes.CDLL]) -> None:
    text = """
    const float e = std::exp(1.f);
    float (*const address)(float) = std::tanh;
    extern "C" int same() {
      int same = 0;
      for (float x = -30; x < 30; x += 0.001f) same += std::exp(x) == ob::exp(x) && tanhf(x) == ob::tanh(x);
      return same + (e > 2.718f) + (address(0.f) == 0.f);
    }
    extern "C" float square(float x) { return ob::pow(x, 2) + std::pow(x, 2.f); }
    extern "C" float of_half(float x) { return ob::sigmoid(ob::half(x)) + std::exp(ob::half(x)); }
    """
    own, libm = compiled(text), compiled(text + "// of the C library", ("OPBRIDGE_LIBM", ""))
    assert own.same() > 59990
    assert own.same() > libm.same() > 40000, "the C library's are others in places, and near"
    for library in (own, libm):
        library.square.restype, library.square.argtypes = ctypes.c_float, [ctypes.c_float]
        assert library.square(3.0) == 18
    own.of_half.restype, own.of_half.argtypes = ctypes.c_float, [ctypes.c_float]
    assert own.of_half(0.0) == 1.5


CUDA = """
#include <cuda_fp16.h>
#include <opbridge/kernel.h>
__global__ void each(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __expf(x[i]) + tanhf(x[i]) + std::log(x[i]) + erfcf(x[i]) + float(hexp(__float2half(x[i])));
}
void f(ob::In<float> x, ob::Out<float> out) { each<<<1, 32>>>(x.data(), out.data(), 32); }
OB_KERNEL(f)
"""
ASCEND = """
#include <opbridge/kernel.h>
#include <kernel_operator.h>
extern "C" __global__ __aicore__ void each(GM_ADDR x) {
  AscendC::TPipe pipe;
  AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 256);
  AscendC::LocalTensor<float> values = buffer.Get<float>();
  AscendC::Duplicate(values, 0.5f, 64);
  AscendC::Exp(values, values, 64);
  AscendC::Tanh(values, values, 64);
  AscendC::LocalTensor<half> halves = buffer.Get<half>();
  AscendC::Asin(halves, halves, 64);
  AscendC::Acosh(halves, halves, 64);
}
void f(ob::InOut<float> x) { each<<<1, nullptr, nullptr>>>(reinterpret_cast<GM_ADDR>(x.data())); }
OB_KERNEL(f)
"""


@pytest.mark.parametrize(("device", "suffix", "text"), [("cuda-twin", ".cu", CUDA), ("ascend-twin", ".cpp", ASCEND)])
def test_the_twins_call_no_function_of_the_c_library(tmp_path: Path, device: str, suffix: str, text: str) -> None:
    source, library = tmp_path / f"f{suffix}", tmp_path / "f.so"
    source.write_text(text)
    assert main(["compile", str(source), str(library), "--device", device]) == 0
    symbols = subprocess.run(
        ["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True
    ).stdout
    assert not re.findall(r"\b(?:exp|tanh|log|erfc|asin|acosh)f?\b", symbols)
