"""What kernels are predicted to take stands beside what a call took; where nothing can be predicted, it is said."""

from __future__ import annotations

import pytest

import opbridge as ob
from opbridge.analysis.bench import LARGE, SMALL, Measurement, Run, bench
from opbridge.analysis.bench.tables import PREDICTED, table
from opbridge.analysis.profile import chip_named
from opbridge.analysis.profile.profile_contents import LAUNCH
from opbridge.base.errors import InputError
from opbridge.waist.op import OpLibrary

ELEMENTS = 1 << 20
KERNELS = """\
#include <opbridge/kernel.h>
#include <stdexcept>
void twice(ob::In<float> x, ob::Out<float> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = 2 * x[i];
}
OB_KERNEL(twice)
"""
OF_CUDA = """\
#include <opbridge/kernel.h>
__global__ void doubled(const float* x, float* out, long n) {
  const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * x[i];
}
void twice(ob::In<float> x, ob::Out<float> out, ob::Context) {
  doubled<<<(x.numel() + 255) / 256, 256>>>(x.data(), out.data(), x.numel());
}
OB_KERNEL(twice)
void refuses(ob::In<float>, ob::Out<float>, ob::Context) { ob::fail("not on this chip"); }
OB_KERNEL(refuses)
"""
MANIFEST = f"""\
namespace: predicted
ops:
  - func: twice(Tensor x) -> Tensor
    out: x
    kernels: {{cpu: kernels.cpp, cuda: kernels.cu}}
    samples: [{{x: {{shape: [4]}}}}, {{x: {{shape: [{ELEMENTS}]}}}}]
  - func: plain(Tensor x) -> Tensor
    out: x
    kernels: {{cpu: "kernels.cpp:twice"}}
    samples: [{{x: {{shape: [4]}}}}]
  - func: refused(Tensor x) -> Tensor
    out: x
    kernels: {{cpu: "kernels.cpp:twice", cuda: "kernels.cu:refuses"}}
    samples: [{{x: {{shape: [4]}}}}]
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> OpLibrary:
    folder = tmp_path_factory.mktemp("predicted")
    (folder / "kernels.cpp").write_text(KERNELS)
    (folder / "kernels.cu").write_text(OF_CUDA)
    (folder / "ops.yaml").write_text(MANIFEST)
    found: OpLibrary = ob.load(folder / "ops.yaml")
    return found


@pytest.fixture(scope="module")
def run(library: OpLibrary, forked: None) -> Run:
    return bench(list(library), frameworks=["numpy", "torch"], rounds=1, chip="a100")


def of(run: Run, operator: str, framework: str = "numpy", extent: str = SMALL) -> Measurement:
    wanted = (f"predicted::{operator}", framework, extent)
    return next(item for item in run.measurements if (item.operator, item.framework, item.extent) == wanted)


@pytest.mark.matrix("the other tests of this file predict calls")
def test_a_call_is_predicted_by_the_bytes_it_moves_on_the_chip(run: Run) -> None:
    small, large = of(run, "twice"), of(run, "twice", extent=LARGE)
    # A launch, and one wait for memory.
    assert small.predicted is not None
    assert LAUNCH.seconds < small.predicted < LAUNCH.seconds + 1e-6
    assert large.predicted is not None
    moved = 2 * 4 * ELEMENTS / chip_named("a100").memory_rate
    assert large.predicted >= LAUNCH.seconds + moved


def test_every_framework_has_the_same_prediction(run: Run) -> None:
    assert of(run, "twice", "torch", LARGE).predicted == of(run, "twice", "numpy", LARGE).predicted


def test_the_words_tell_what_was_measured_from_what_was_predicted(run: Run) -> None:
    shown = table(run)
    assert PREDICTED in shown
    predicted = of(run, "twice").predicted
    assert predicted is not None
    assert f" {predicted * 1e6:.2f} µs on a100" in next(line for line in shown.splitlines() if "float32[4]" in line)


def test_what_has_no_kernel_for_the_chip_says_so_and_is_measured(run: Run) -> None:
    plain = of(run, "plain")
    assert plain.predicted is None
    assert plain.time.median > 0
    assert plain.note == "not predicted for a100: predicted::plain has no kernel for cuda-twin"


def test_a_kernel_that_fails_in_the_twin_says_so_and_is_measured(run: Run) -> None:
    refused = of(run, "refused")
    assert refused.predicted is None
    assert refused.note.startswith("not predicted for a100: predicted::refused ended with exit code 1")


def test_a_table_without_predictions_has_no_column_for_them(library: OpLibrary) -> None:
    shown = table(bench(library.plain, frameworks=["numpy"], rounds=1, chip="a100"))
    assert " predicted\n" not in shown
    assert PREDICTED not in shown


def test_a_run_comes_back_from_its_fields(run: Run) -> None:
    assert Run.of(run.fields()) == run


def test_an_unknown_chip_is_refused_first(library: OpLibrary) -> None:
    with pytest.raises(InputError, match="no chip is called 'a101'"):
        bench(library.plain, chip="a101")
