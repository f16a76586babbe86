"""What is read of a source of Ascend C: its kernels, whatever stands around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from opbridge.build.cxx.ascend_kernels import AscendSource, KernelParameter, read_kernels

SOURCE = """
// __global__ void in_a_comment(GM_ADDR x) {}
extern "C" __global__ __aicore__ void add(GM_ADDR x, __gm__ float* y, int32_t n) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
}
__global__ void declared(GM_ADDR x);
__global__ __attribute__((noinline)) void with_attributes(GM_ADDR x) {}
namespace inner { __global__ void hidden(GM_ADDR x) {} }
template <class T> __global__ void general(GM_ADDR x) {}
"""


def test_kernels_that_can_be_called_by_name_are_told_with_what_they_take() -> None:
    source = AscendSource(SOURCE, "k.cpp")
    assert [kernel.name for kernel in source.kernels] == ["add", "with_attributes"]
    add, other = source.kernels
    assert add.parameters == (
        KernelParameter("GM_ADDR", "x"),
        KernelParameter("__gm__ float *", "y"),
        KernelParameter("int32_t", "n"),
    )
    assert [parameter.is_address for parameter in add.parameters] == [True, True, False]
    assert (add.task_type, other.task_type) == ("KERNEL_TYPE_AIV_ONLY", None)


@pytest.mark.parametrize(
    ("word", "task_type"),
    [
        ("__mix__(1, 2)", "KERNEL_TYPE_MIX_AIC_1_2"),
        ("__mix__(1, 1)", "KERNEL_TYPE_MIX_AIC_1_1"),
        ("__cube__", "KERNEL_TYPE_AIC_ONLY"),
        ("__vector__", "KERNEL_TYPE_AIV_ONLY"),
        ("__aicore__", None),
    ],
)
def test_a_word_of_the_declaration_states_the_cores(word: str, task_type: str | None) -> None:
    (kernel,) = AscendSource(f"__global__ {word} void k(GM_ADDR x) {{}}", "k.cpp").kernels
    assert (kernel.name, kernel.task_type) == ("k", task_type)


def test_whatever_is_marked_as_a_kernel_is_none_that_a_host_calls() -> None:
    source = AscendSource(SOURCE, "k.cpp")
    assert source.global_functions == {"add", "declared", "with_attributes", "hidden", "general"}


@pytest.mark.parametrize("text", ["int f() { return 1; }", None])
def test_a_file_without_kernels_is_not_read_further(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "f.cpp"
    if text is not None:
        path.write_text(text)
    assert read_kernels(path) is None
