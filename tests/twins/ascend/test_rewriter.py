"""Launches and kernels are found wherever they stand, and nothing else is changed."""

from __future__ import annotations

import pytest

from opbridge.base.errors import InputError
from opbridge.build.cxx.ascend_kernels import KernelParameter
from opbridge.twins.ascend.rewriter import LaunchFunction, rewrite


def test_other_code_stays_as_it_is() -> None:
    source = '#include <x>\n// a <<< b\nint f(int a) { return a << 2 >> 1; }\nauto s = "k<<<1>>>()";\n'
    assert rewrite(source, "f.cpp").code == source


def test_a_launch_becomes_a_call_on_the_same_lines() -> None:
    code = rewrite("void f() {\n  ns::k<int><<<n,\n nullptr, s>>>(x, 1);\n  g();\n}\n", "f.cpp").code
    assert (
        '::opbridge_ascend::configured<OPBRIDGE_ASCEND_CORES>("ns::k<int>", [&](auto... opbridge_arguments) '
        "{ ns::k<int>(opbridge_arguments...); }, n,\n nullptr, s)(x, 1);" in code
    )
    assert code.count("\n") == 5


def test_a_kernel_gets_a_function_for_hosts_behind_it() -> None:
    source = 'extern "C" {\n__global__ __aicore__ void k(GM_ADDR x, __gm__ half* y, uint32_t n) { body(); }\n}\n'
    rewritten = rewrite(source, "k.cpp")
    (kernel,) = rewritten.kernels
    launch = LaunchFunction(kernel)
    assert kernel.name == "k"
    assert kernel.parameters == (
        KernelParameter("GM_ADDR", "x"),
        KernelParameter("__gm__ half *", "y"),
        KernelParameter("uint32_t", "n"),
    )
    assert (
        "uint32_t aclrtlaunch_k(uint32_t opbridge_blocks, void* opbridge_stream, void* x, void* y, uint32_t n);"
        in launch.declaration
    )
    assert f"{{ body(); }} {launch.definition}\n" in rewritten.code
    assert "k((GM_ADDR)ob_ascend_window(x), (__gm__ half *)ob_ascend_window(y), n);" in launch.definition


@pytest.mark.parametrize(
    ("body", "cores"),
    [
        ("", "OPBRIDGE_ASCEND_CORES"),
        ("KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);", "::opbridge_ascend::cores_of(KERNEL_TYPE_MIX_AIC_1_2)"),
        ("KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);", "::opbridge_ascend::cores_of(KERNEL_TYPE_AIC_ONLY)"),
    ],
)
def test_a_launch_says_which_cores_a_block_has(body: str, cores: str) -> None:
    source = f"__global__ void k(GM_ADDR x) {{ {body} }}\nvoid f() {{ k<<<1, nullptr, s>>>(x); }}\n"
    rewritten = rewrite(source, "k.cpp")
    assert f"k((GM_ADDR)ob_ascend_window(x)); }}, {cores}, {{ob_ascend_window(x)}});" in rewritten.code
    assert f'::opbridge_ascend::configured<{cores}>("k",' in rewritten.code


@pytest.mark.parametrize(
    "source",
    [
        "template <class T>\n__global__ void k(GM_ADDR x) {}\n",
        "namespace n {\n__global__ void k(GM_ADDR x) {}\n}\n",
        "__global__ void k(GM_ADDR x);\n",
    ],
)
def test_what_a_host_cannot_call_by_name_is_left_alone(source: str) -> None:
    assert rewrite(source, "k.cpp").kernels == ()
    assert rewrite(source, "k.cpp").code == source


@pytest.mark.parametrize("source", ["void f() { k<<<1, 2(x); }", "void f() { <<<1>>>(x); }"])
def test_half_a_launch_is_refused_where_it_stands(source: str) -> None:
    with pytest.raises(InputError, match=r"f\.cpp:1:\d+: expected"):
        rewrite(source, "f.cpp")


@pytest.mark.parametrize(
    ("head", "is_marked"),
    [
        ("__aicore__ void f(int a)", True),
        ("class A { public: __aicore__ int f() const", True),
        ("template <class T> __aicore__ T f(T x)", True),
        ("__aicore__ inline void f()", False),
        ("__inline__ __attribute__((always_inline)) __aicore__ void f()", False),
        ("__aicore__ constexpr int f()", False),
        ("__aicore__ A() : a{1}", False),
        ("auto f = [&] __aicore__ (int a)", False),
        ('extern "C" __global__ __aicore__ void k(GM_ADDR x)', False),
        ("void host()", False),
    ],
)
def test_a_function_of_the_device_that_is_not_inline_says_so(head: str, is_marked: bool) -> None:
    code = rewrite(f"{head} {{ body(); }}", "f.cpp").code
    assert code.startswith(f"{head} {{ ::opbridge_ascend::OutOfLine opbridge_out_of_line; body();") is is_marked
    assert ("OutOfLine" in code) is is_marked


def test_a_project_cannot_define_the_qualifiers_anew() -> None:
    source = "#define __aicore__ [aicore]\n#ifndef __global__\n#define __global__ \\\n  [global]\n#endif\nint x;\n"
    code = rewrite(source, "f.cpp").code
    assert code == "#define __aicore__\n#ifndef __global__\n#define __global__\n\n#endif\nint x;\n"


def test_a_kernel_may_have_the_name_of_a_function_of_c() -> None:
    source = 'extern "C" __global__ void hypot(GM_ADDR x) { hypot(1.0f, 2.0f); }\nvoid f() { hypot<<<1, 0, s>>>(x); }\n'
    rewritten = rewrite(source, "k.cpp")
    assert rewritten.code.startswith(
        'extern "C" __global__ void opbridge_kernel_hypot(GM_ADDR x) { hypot(1.0f, 2.0f); }'
    )
    assert "uint32_t aclrtlaunch_hypot(" in rewritten.code
    assert 'configured<OPBRIDGE_ASCEND_CORES>("hypot", [&](auto... opbridge_arguments) { opbridge_kernel_hypot(' in (
        rewritten.code
    )
    assert [kernel.name for kernel in rewritten.kernels] == ["hypot"]


def test_attributes_of_a_kernel_are_no_parameters() -> None:
    source = "__global__ __attribute__((used)) __aicore__ void k(GM_ADDR x, int n) { }\n"
    (kernel,) = rewrite(source, "k.cpp").kernels
    assert (kernel.name, [one.name for one in kernel.parameters]) == ("k", ["x", "n"])


def test_a_launch_in_a_macro_is_one_on_as_many_lines() -> None:
    source = "#define GO(kernel, n) \\\n  kernel<<<n, \\\n    nullptr, stream>>>(x)\nvoid f() { GO(k, 2); }\n"
    code = rewrite(source, "f.cpp").code
    assert "#define GO(kernel, n) \\\n  ::opbridge_ascend::configured<OPBRIDGE_ASCEND_CORES>(#kernel, [&]" in code
    assert "n, \\\n    nullptr, stream)(x)\nvoid f()" in code
