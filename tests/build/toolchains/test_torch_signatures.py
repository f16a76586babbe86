"""Which sources need no header of PyTorch's to bind their functions."""

from __future__ import annotations

import pytest

from opbridge.build.toolchains.torch_signatures import says_only_types

MODULE = """PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("f", torch::wrap_pybind_function(f), "says \\"f\\"");
}"""


def source(declarations: str) -> str:
    return f"#include <torch/extension.h>\n{declarations}\n{MODULE}"


@pytest.mark.parametrize(
    "declaration",
    [
        "torch::Tensor f(torch::Tensor x, at::Tensor);",
        "\n  std::vector<torch::Tensor> f(const std::vector<at::Tensor>& all);\n\nvoid g();",
        "int f(const torch::Tensor & x, float rate = 1e-5f, bool exact=false, int64_t n=-1, double y = 0.5);",
        "#include <torch/extension.h>\nat::Tensor f(torch::Tensor x);",
    ],
)
def test_tensors_and_numbers(declaration: str) -> None:
    assert says_only_types(source(declaration))


@pytest.mark.parametrize(
    "declaration",
    [
        "torch::Tensor f(torch::IntArrayRef sizes);",
        "torch::Tensor f(unsigned n);",
        "intx f(floaty x);",
        "torch::Tensor f(torch::Tensor x) { return x; }",
        "using namespace torch; Tensor f(Tensor x);",
        "#include <vector>\ntorch::Tensor f(torch::Tensor x);",
        "#define f g\ntorch::Tensor f(torch::Tensor x);",
        "template <class T> T f(T x);",
    ],
)
def test_all_else(declaration: str) -> None:
    assert not says_only_types(source(declaration))
