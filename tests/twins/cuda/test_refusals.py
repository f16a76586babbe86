"""What nvcc refuses and a host compiler takes stops the compiler at the user's line; the rest is left alone."""

from __future__ import annotations

import pytest
from tests.twins.cuda.test_rewriting import rewritten

HOST = "int h(int x) { return x; }\n"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("__global__ int k(int* x) { return 0; }", "a __global__ function must return void, not int"),
        ("template <class T> __global__ float k(T x) { return 0; }", "must return void, not float"),
        ("__global__ void k(const Size& size) {}", "cannot take a parameter by reference"),
        ("__global__ void k(float (&x)[3], int n) {}", "cannot take a parameter by reference"),
        (HOST + "__global__ void k(int* x) { x[0] = h(1); }", "device code cannot call the host function h"),
        (HOST + "__device__ int f(int x) { if (x) return h(x); return 0; }", "cannot call the host function h"),
        ("__device__ int f() { std::vector<int> v; return v.size(); }", "device code cannot use std::vector"),
        ("__global__ void k() { std::cout << 1; }", "device code cannot use std::cout"),
    ],
)
def test_what_nvcc_refuses_stops_the_compiler(source: str, message: str) -> None:
    assert rewritten(source).count("GCC error") == 1
    assert message in rewritten(source)


@pytest.mark.parametrize(
    "source",
    [
        "__global__ void k(int a = 1 & 2, int* b = nullptr) {}",
        "auto __launch_bounds__(sizeof(int)) __global__ k() -> void {}",
        HOST + "__device__ int h(float);\n__global__ void k(int* x) { x[0] = h(1); }",
        HOST + "__global__ void k(int* x) { auto h = [](int y) { return y; }; x[0] = h(1); }",
        HOST + "__global__ void k(Table x) { int h(3); x.y = x.h(1) + n::h(2); }",
        HOST + "void g() { h(1); std::vector<int> v; }",
        "#define HD __host__ __device__\nHD int h(int x) { return x; }\n__global__ void k(int* x) { x[0] = h(1); }",
        "OF_A_HEADER int h(int x) { return x; }\n__global__ void k(int* x) { x[0] = h(1); }",
        "constexpr int h(int x) { return x; }\n__global__ void k(int* x) { x[0] = h(1); }",
        "__host__ __device__ void f() { std::vector<int> v; }",
    ],
)
def test_the_rest_is_left_alone(source: str) -> None:
    assert "GCC error" not in rewritten(source)
