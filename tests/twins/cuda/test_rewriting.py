"""What becomes of CUDA's extensions; that the result compiles and runs is for the tests of the kernels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import pytest
import torch

from opbridge.base.errors import InputError
from opbridge.twins.cuda.rewriting import Unit, rewrite

KERNELS = sorted((Path(__file__).parent / "kernels").iterdir())


def rewritten(source: str, unit: Unit | None = None) -> str:
    result = rewrite(source, "k.cu", unit or Unit())
    assert result.count("\n") == source.count("\n")
    return result


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("__device__ __noinline__ int f();", "__device__ __attribute__((noinline)) int f();"),
        ("#define APART __noinline__ static\n", "#define APART __attribute__((noinline)) static\n"),
        ("__attribute__((__noinline__)) int f();", "__attribute__((__noinline__)) int f();"),
        ("__attribute__((cold, __noinline__)) int f();", "__attribute__((cold, __noinline__)) int f();"),
    ],
)
def test_cuda_s_noinline_leaves_the_attribute_of_that_name_alone(source: str, expected: str) -> None:
    assert rewritten(source) == expected


def test_a_half_of_pytorch_s_stays_one() -> None:
    source = "half f(at::Half x) { return __shfl_down_sync(~0u, X(x).operator __half(), 1); }"
    assert rewritten(source) == source.replace(".operator __half()", "")
    other = "half f(Own x) { return x.operator bool() ? x.operator __half : x.operator __half2(); }"
    assert rewritten(other) == other


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("void* p = (void*)k<1>;", "void* p = ::opbridge_twin::losing_type->*k<1>;"),
        ("p = ( const void * ) &n::k;", "p = ::opbridge_twin::losing_type->* &n::k;"),
        ("p = reinterpret_cast<void*>(k);", "p = ::opbridge_twin::losing_type->*(k);"),
        ("f((void*)x, k);", "f((void*)x, k);"),
        ("set(void*), k", "set(void*), k"),
    ],
)
def test_a_kernel_that_loses_its_type_is_kept_for_who_launches_it(source: str, expected: str) -> None:
    head = "template <int N> __global__ void k();\nvoid f() { "
    assert rewritten(f"{head}{source} }}") == f"{head}{expected} }}"


def test_a_kernel_loses_its_type_in_a_macro_too() -> None:
    head = "template <int N> __global__ void k();\n#define CASE(N) \\\n  if (n == N) chosen = "
    assert rewritten(f"{head}(void *) \\\n k<N>;") == f"{head}::opbridge_twin::losing_type->* \\\n k<N>;"


def launch(configuration: str, call: str) -> str:
    return f"(::opbridge_twin::configure({configuration}), {call}, ::opbridge_twin::launched())"


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.name)
def test_every_line_stays_where_it_is(path: Path) -> None:
    rewritten(path.read_text())


def test_the_cuda_of_pytorch_s_own_headers_is_understood() -> None:
    folder = Path(torch.__file__).parent / "include" / "ATen"
    kernels = 0
    for path in sorted((*folder.rglob("*.cuh"), *folder.glob("cuda/*.h"))):
        result = rewritten(path.read_text())
        kernels += result.count("::opbridge_twin::launch(")
    assert kernels > 20


@pytest.mark.parametrize(
    "source",
    [
        "",
        "int f(int a) { return a << 3 >> 1; }",
        'const char* s = "k<<<1, 2>>>(x)"; // k<<<1, 2>>>(x)',
        "template <class T> std::ostream& operator<<<T>(std::ostream& out, T t);",
        "std::cout << (a << b) << std::endl; out.operator<< <int>(x >> > (y));",
        "struct __align__(8) S { int x[2] = {1, 2}; };",
        "__device__ int f(int);",
        '#include "no/such.h"\n#if 0\n#endif',
    ],
)
def test_what_is_c_plus_plus_already_stays(source: str) -> None:
    assert rewritten(source) == source


class TestLaunches:
    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("k<<<1, 2>>>(a, b);", launch("1, 2", "k(a, b)") + ";"),
            ("ns::k<T, (N > 3)><<<g, b, s, t>>>();", launch("g, b, s, t", "ns::k<T, (N > 3)>()") + ";"),
            ("::k<A<B<2>>><<<1, 2>>>(f(x), {1, 2});", launch("1, 2", "::k<A<B<2>>>(f(x), {1, 2})") + ";"),
            ("k<<<dim3{1, 2}, x >> 1>>>(a);", launch("dim3{1, 2}, x >> 1", "k(a)") + ";"),
            ("this->kernels[i]<<<1, 2>>>();", launch("1, 2", "this->kernels[i]()") + ";"),
            ("chosen(x)<<<1, 2>>>();", launch("1, 2", "chosen(x)()") + ";"),
            ("x.template k<int><<<1, 2>>>();", launch("1, 2", "x.template k<int>()") + ";"),
            ("if (x) k<<<1, 2>>>(); else (*f)<<<3, 4>>>();",
             f"if (x) {launch('1, 2', 'k()')}; else {launch('3, 4', '(*f)()')};"),
            ("a ? k<<<1, 2>>>() : k<<<3, 4>>>();", f"a ? {launch('1, 2', 'k()')} : {launch('3, 4', 'k()')};"),
            ("k << <1, 2 >> > (a, b);", launch("1, 2 ", "k  (a, b)") + ";"),
            ("k<< <n >> 1, (m > 2)>>> (a);", launch("n >> 1, (m > 2)", "k (a)") + ";"),
            ("k<<<g, // blocks\n  b>>>(\n  a);", launch("g, // blocks\n  b", "k(\n  a)") + ";"),
            ("#define GO(k, ...) \\\n  k<<<1, 2>>>(__VA_ARGS__)",
             "#define GO(k, ...) \\\n  " + launch("1, 2", "k(__VA_ARGS__)")),
        ],
    )  # fmt: skip
    def test_are_calls_behind_a_configuration(self, source: str, expected: str) -> None:
        assert rewritten(source) == expected

    @pytest.mark.parametrize(
        "cast", ["(void*)", "(const void *)", "reinterpret_cast<const void*>", "reinterpret_cast<void *>"]
    )
    def test_a_kernel_that_is_passed_keeps_its_type(self, cast: str) -> None:
        assert "void" not in rewritten(f"cudaLaunchKernel({cast}(k<int>), g, b, args);")
        assert "void" not in rewritten(f"cudaFuncGetAttributes(&found, {cast}(k));")

    @pytest.mark.parametrize(
        ("source", "line", "column", "message"),
        [
            ("int a;\nk<<<1, 2>>;", 2, 2, "expected >>> and the kernel's arguments after <<<"),
            ("k<<<1, 2>>> x;", 1, 2, "expected >>> and the kernel's arguments after <<<"),
            ("\n = <<<1, 2>>>();", 2, 4, "expected a kernel's name before <<<"),
            ("#define CFG(n) <<<n, 1>>>\nk CFG(2) ();", 1, 16, "expected >>> and the kernel's arguments after <<<"),
        ],
    )
    def test_that_cannot_be_understood_are_refused(self, source: str, line: int, column: int, message: str) -> None:
        with pytest.raises(InputError, match=message) as caught:
            rewritten(source)
        assert caught.value.where is not None
        assert (caught.value.where.line, caught.value.where.column) == (line, column)


class TestCallsOfKernels:
    IN_EXPRESSIONS: ClassVar[list[str]] = [
        "if (x) k(x);",
        "x ? k(x) : 0;",
        "x ? 0 : k(x);",
        "int i = (k(x), 3);",
        "g(x, k<float>(x));",
        "if (k(x)) { y; }",
        "for (;;) k(x);",
        "(void)k(x);",
        "return k(x);",
        "if (x) y; else k(x);",
        "[=] { return k(x); }();",
    ]
    ERROR = '_Pragma("GCC error \\"k is a __global__ function, which is launched and not called: k<<<'

    @pytest.mark.parametrize("call", ["k(x, 3);", "k<float>(x);", "if (x) { k(x); }", "k<A<3>>(x);", *IN_EXPRESSIONS])
    @pytest.mark.parametrize("head", ["__global__ void k(float* x, int n) {}", "__global__ void k(float* x);"])
    def test_without_a_launch_are_refused(self, head: str, call: str) -> None:
        assert self.ERROR in rewritten(f"template <class T>\n{head}\nvoid f(float* x) {{ {call} }}")

    @pytest.mark.parametrize(
        "code",
        [
            "void f() { k<<<1, 2>>>(x); }",
            "void f() { k<float><<<1, 2>>>(x); }",
            "void k(Tensor x) { k<<<1, 2>>>(x.data()); } void f() { k(Tensor()); }",
            "void f() { a::k(x); s.k(x); p->k(x); int i = k; }",
            "void f() { auto k = [](int) {}; k(3); }",
            "template <class F> void f(F&& k) { k(3); }",
            "struct S { void k(int); void g() { k(3); } };",
            "void f() { cudaLaunchKernel(k, g, b, args); }",
            "void f() { K k(3); }",
            "void f() { int a = 1, k(3); }",
            "void f() { g(decltype(k(x))()); }",
            "void f() { g(k); h = k; call(&k, 3); bool b = p(x, k<float>); }",
            "void f() { void g(int k(int)); return (k<<<1, 2>>>(x)); }",
            "void f() { x ? k<<<1, 2>>>(x) : k<<<2, 1>>>(x); }",
            "void f() { struct S { S() : k(3) {} int k; }; }",
            "struct S { int a, k; S() : a(2), k(3) {} };",
            "template <class F> void f(F k) { g(k(3)); }",
        ],
    )
    def test_and_what_looks_like_one_are_not(self, code: str) -> None:
        assert "GCC error" not in rewritten(f"__global__ void k(float* x) {{}}\n{code}")


class TestKernels:
    HEAD = "{ ::opbridge_twin::launch(__PRETTY_FUNCTION__, [=]OPBRIDGE_TWIN_KERNEL "

    @pytest.mark.parametrize(
        "head",
        [
            "__global__ void k(int n = 3) ",
            'extern "C" __global__ void __launch_bounds__(256, 2) k() ',
            "template <class T, int N = sizeof(T)> static __global__ void k(T (*x)[N]) ",
            "namespace a { __global__ void k() ",
        ],
    )
    def test_have_a_body_that_becomes_a_lambda(self, head: str) -> None:
        assert rewritten(head + "{ if (x) { y; } }") == head + self.HEAD + "{ if (x) { y; } }); }"

    def test_may_be_named_by_a_macro(self) -> None:
        assert rewritten("#define KERNEL __global__ void\nKERNEL k() {}").endswith(self.HEAD + "{}); }")

    def test_with_scopes_of_their_own_read_variables(self) -> None:
        for body in ("auto f = [](int i) { return i; };", "struct S { int x; } s;"):
            assert "OPBRIDGE_TWIN_KERNEL_OF_VARIABLES" in rewritten(f"__global__ void k() {{ {body} }}")

    def test_with_a_head_for_each_of_two_conditions(self) -> None:
        source = "#if A\n__global__ void k(int a) {\n#else\n__global__ void k(int a, int b) {\n#endif\n}"
        result = rewritten(source)
        assert result.count(self.HEAD) == 2
        assert result.count("}); }") == 1


class TestSharedMemory:
    def test_is_a_structure_of_the_block(self) -> None:
        assert rewritten("__global__ void k() { static __shared__ volatile T a[N][N + 1], b; use(a); }").endswith(
            "struct opbridge_twin_shared_1 {   volatile T a[N][N + 1], b; }; "
            'auto& opbridge_twin_block_1 = ::opbridge_twin::shared<opbridge_twin_shared_1>("a, b"); '
            "auto& a = opbridge_twin_block_1.a; auto& b = opbridge_twin_block_1.b; use(a); }); }"
        )

    def test_may_be_of_a_class_without_a_name(self) -> None:
        assert "auto& u = opbridge_twin_block_1.u;" in rewritten("void f() { __shared__ union { int i; float f; } u; }")

    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("extern __shared__ float s[];", "float[]"),
            ("extern __shared__ __align__(16) unsigned char s[];", "unsigned char[]"),
            ("extern __shared__ A<T, 3> s[][32];", "A < T , 3 >[][32]"),
            ("extern volatile __shared__ int s[];", "volatile int[]"),
        ],
    )
    def test_of_a_size_from_the_launch(self, source: str, expected: str) -> None:
        declaration = f"auto* const s = ::opbridge_twin::dynamic_shared<{expected}>();"
        assert rewritten(f"__device__ void f() {{ {source} }}") == f"__device__ void f() {{ {declaration} }}"
        # Outside of functions it is declared in those that use it.
        result = rewritten(f"{source}\n__device__ int f() {{ return s[0]; }}\n__device__ int g(int s) {{ return s; }}")
        assert (
            result
            == f"\n__device__ int f() {{{declaration}{{ return s[0]; }}}}\n__device__ int g(int s) {{ return s; }}"
        )

    @pytest.mark.parametrize(
        ("use", "is_whole"),
        [
            ("reinterpret_cast<T&>(s)", True),
            ("reinterpret_cast<T*>(&s)", True),
            ("reinterpret_cast<T*>(s)", False),
            ("*(T*)(&s[n])", False),
            ("s[n & m]", False),
        ],
    )
    def test_of_a_size_from_the_launch_is_an_array_to_who_asks_where_it_stands(self, use: str, is_whole: bool) -> None:
        result = rewritten(f"__device__ void f() {{ extern __shared__ char s[]; use({use}); }}")
        assert ("auto& s = ::opbridge_twin::dynamic_shared<char[]>();" in result) == is_whole

    @pytest.mark.parametrize(
        "function",
        [
            "struct P { int s; __device__ int get() { return s; } };",
            "struct P { __device__ int get() { return s; } int s[3]; };",
            "__device__ int f(const int* s) { return *s; }",
            "int on_the_host() { int s = 3; return s; }",
            "__device__ int f() { return threadIdx.s + pointer -> s; }",
        ],
    )
    def test_from_outside_is_not_what_others_call_by_its_name(self, function: str) -> None:
        assert rewritten(f"extern __shared__ int s[];\n{function}") == f"\n{function}"

    @pytest.mark.parametrize(
        ("around", "elsewhere"),
        [
            ("namespace a {{ {} }}", False),
            ("namespace a::b {{ {} }}", False),
            ("namespace {{ {} }}", True),
            ("inline namespace v {{ {} }}", True),
            ('extern "C++" {{ {} }}', True),
        ],
    )
    def test_from_a_namespace_is_known_where_its_names_are(self, around: str, elsewhere: bool) -> None:
        use, declared = "__device__ int f() { return s[0]; }", "auto* const s ="
        source = around.format("extern __shared__ int s[];")
        assert (declared in rewritten(f"{source}\n{use}")) == elsewhere
        assert declared in rewritten(f"{source}\n{around.format(use)}")

    def test_from_the_innermost_namespace_is_what_a_function_means(self) -> None:
        inner = "namespace a { extern __shared__ float s[]; __device__ float f() { return s[0]; } }"
        result = rewritten(f"extern __shared__ int s[];\n{inner}\n__device__ int g() {{ return s[0]; }}")
        assert result.count("dynamic_shared<float[]>") == result.count("dynamic_shared<int[]>") == 1

    def test_may_be_declared_by_a_macro_s_word(self) -> None:
        source = "#define A __shared__ __align__(8)\n__global__ void k() { A int x[2]; }"
        assert "auto& x = opbridge_twin_block_1.x;" in rewritten(source)

    def test_of_a_launch_s_size_may_be_declared_by_a_macro(self) -> None:
        source = "#define S(t, n) __device__ t& f() { extern __shared__ t n[]; return *n; }\n"
        result = rewritten(source)
        assert "auto* const n = ::opbridge_twin::dynamic_shared<t[]>();" in result
        assert "extern" not in result

    @pytest.mark.parametrize("source", ["__shared__ int x = 3;", "__shared__;", "#define S __shared__ int x;\n"])
    def test_that_is_no_cuda_is_refused(self, source: str) -> None:
        with pytest.raises(InputError, match="__shared__"):
            rewritten(f"void f() {{\n{source}\n}}")


class TestArchitecture:
    @pytest.mark.parametrize(
        ("directive", "inside"),
        [
            ("#if __CUDA_ARCH__ >= 700", "#if 800 >= 700"),
            ("#if defined(__CUDA_ARCH__) && A", "#if 1 && A"),
            ("#elif defined __CUDA_ARCH__", "#elif 1"),
            ("#ifdef __CUDA_ARCH__", "#if 1"),
            ("# ifndef __CUDA_ARCH__", "# if 0"),
        ],
    )
    def test_is_known_in_device_code_alone(self, directive: str, inside: str) -> None:
        def function(head: str, line: str) -> str:
            before = "#if X\n" if "elif" in line else ""
            return f"{head} f() {{\n{before}{line}\n#endif\n}}"

        for head in ("__device__ void", "__host__ __device__ void", "struct S { __device__ int"):
            assert rewritten(function(head, directive)) == function(head, inside)
        assert rewritten(function("void", directive)) == function("void", directive)

    @pytest.mark.parametrize("condition", ["__CUDA_ARCH__ >= 700", "defined(__CUDA_ARCH__)"])
    def test_chooses_functions_of_the_device(self, condition: str) -> None:
        known = condition.replace("defined(__CUDA_ARCH__)", "1").replace("__CUDA_ARCH__", "800")
        device = "template <int n>\n__device__ void f(int) { if (n) { } }\n#ifdef X\n__device__ int x;\n#endif\n"
        other = "#elif __CUDA_ARCH__ > 1\n__device__ void f();\n#endif\n"
        source = f"#if {condition}\n{device}{other}#if {condition}\n#endif\n"
        result = rewritten(source)
        assert f"#if {known}\n" in result
        assert "#elif 800 > 1\n" in result
        assert result.endswith(f"#if {condition}\n#endif\n")

    @pytest.mark.parametrize(
        "host",
        ["#define HD __device__", "#include <x.h>", "void g() { }", "__host__ __device__ void g();", "#else\nint x;"],
    )
    def test_chooses_as_the_host_sees_it_what_is_the_host_s_too(self, host: str) -> None:
        source = f"#if __CUDA_ARCH__ >= 700\n__device__ void f();\n{host}\n#endif\n"
        assert "#if __CUDA_ARCH__ >= 700\n" in rewritten(source)

    def test_of_a_lambda(self) -> None:
        source = "void f() { g([=] __device__(int i) { return __CUDA_ARCH__; }); return __CUDA_ARCH__; }"
        assert rewritten(source) == source.replace("__CUDA_ARCH__; });", "800; });")


class TestClock:
    def test_counts_ticks_in_device_code(self) -> None:
        source = (
            "__device__ long f() { return clock() + ::clock() + a.clock() + clock(1); } long g() { return clock(); }"
        )
        assert rewritten(source) == source.replace("clock()", "::opbridge_twin::ticks()", 1)


class TestReturns:
    BODY = "void f(int* x) { if (*x) return; %s; }"

    @pytest.mark.parametrize("barrier", ["__syncthreads()", "__syncthreads_or(*x)", "block.sync()"])
    def test_that_may_leave_a_barrier_to_others_are_noted(self, barrier: str) -> None:
        assert "OPBRIDGE_TWIN_RETURN;" in rewritten("__device__ " + self.BODY % barrier)

    @pytest.mark.parametrize(
        "source",
        [
            "__device__ " + BODY % "*x = 1",
            "__device__ " + BODY % "__syncwarp()",
            "__host__ __device__ " + BODY % "__syncthreads()",
            "__device__ int f(int* x) { if (*x) return 1; __syncthreads(); return 2; }",
            BODY % "x->sync()",
        ],
    )
    def test_that_may_not_are_as_written(self, source: str) -> None:
        assert "OPBRIDGE_TWIN_RETURN" not in rewritten(source)


class TestWhatIsNotSupported:
    @pytest.mark.parametrize(
        ("source", "feature"),
        [
            (
                '__device__ void f() { asm volatile("wgmma.fence;"); }',
                "`wgmma` of inline PTX assembly, which GPUs have since Hopper",
            ),
            (
                '#define WAIT asm("wgmma.fence.sync.aligned;")',
                "`wgmma` of inline PTX assembly, which GPUs have since Hopper",
            ),
            ('#define MOVE asm("movmatrix.sync.aligned;")', "`movmatrix` of inline PTX assembly"),
            (
                "__global__ void k() { cudaDeviceSynchronize(); }",
                "waiting for kernels in device code, which CUDA 12 removed",
            ),
        ],
    )
    def test_is_an_error_where_the_preprocessor_comes_to_it(self, source: str, feature: str) -> None:
        message = f"{feature}: not supported by the CUDA twin, which docs/cuda.md says more about"
        assert f'_Pragma("GCC error \\"{message}\\"")' in rewritten(source)

    def test_assembly_of_the_host_is_its_own_business(self) -> None:
        source = 'void f() { asm("nop"); }'
        assert rewritten(source) == source

    @pytest.mark.parametrize(
        ("header", "feature"),
        [
            ("<cudnn_frontend.h>", "cuDNN's graphs of operations: not supported by"),
            ('"nccl.h"', "NCCL: not supported by"),
            ("<cute/tensor.hpp>", "CUTLASS: its headers are in no folder that -I names"),
            ("<thrust/sort.h>", "Thrust: its headers are not installed; do so by: pip install nvidia-cuda-cccl-cu12"),
            ('"cub/cub.cuh"', "CUB: its headers are not installed"),
            ("<cuda/std/array>", "libcu++: its headers are not installed"),
        ],
    )
    def test_headers(self, header: str, feature: str) -> None:
        assert rewritten(f"#include {header}").startswith(f"#error {feature}")

    @pytest.mark.parametrize("header", ["<thrust/sort.h>", '"cub/cub.cuh"', "<cuda/std/array>"])
    def test_cccl_where_it_is(self, header: str) -> None:
        assert rewritten(f"#include {header}", Unit(has_cccl=True)) == f"#include {header}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("A<T>::call<2>(x);", "A<T>::template call<2>(x);"),
        ("A<T>::template call<2>(x);", "A<T>::template call<2>(x);"),
        ("if (A<T>::count < 2) g(x > (y));", "if (A<T>::count < 2) g(x > (y));"),
        ("B::call<2>(x);", "B::call<2>(x);"),
    ],
)
def test_template_is_said_where_nvcc_does_without(source: str, expected: str) -> None:
    assert rewritten(f"template <class T> void f() {{ {source} }}") == f"template <class T> void f() {{ {expected} }}"


@pytest.mark.parametrize(
    ("call", "is_one"),
    [
        ("a.block<3, 3>(0, 0)", True),
        ("p->tail<2>()", True),
        ("a.cast<X<T>>()", True),
        ("a.template block<3, 3>(0, 0)", False),
        ("f(a.x < b, c > (d))", False),
        ("a.x < 3", False),
        ("a.x < b && c > (d, e)", False),
        ("a.segment<N>(i)", True),
    ],
)
def test_template_is_said_before_a_librarys_member_that_can_be_nothing_else(call: str, is_one: bool) -> None:
    """Which Eigen's are, in kernels that only nvcc has ever compiled."""
    source = f"template <class T> __device__ void f(T a) {{ {call}; }}"
    assert rewritten(source) == (re.sub(r"(\.|->)", r"\1template ", source) if is_one else source)


def test_template_is_said_before_a_member_that_is_one() -> None:
    declared = "struct A { int plain; template <int N> __device__ void call(int x); };\ntemplate <class T> void f() "
    source = "{ T a, *p = &a; a.call<2>(1); p->call<3>(1); a.template call<2>(1); g(a.plain < 1, 2 > (3)); }"
    expected = source.replace("a.call", "a.template call").replace("p->call", "p->template call")
    assert rewritten(declared + source) == declared + expected


@pytest.mark.parametrize("cast", ["(void*)", "(const void *)", "reinterpret_cast<void*>", ""])
def test_a_kernel_keeps_its_type_in_a_graph(cast: str) -> None:
    source = f"void f() {{ cudaKernelNodeParams p; p.func = {cast}(k); q.function = (void*)k; }}"
    assert rewritten(source) == source.replace(cast + "(k)", "(k)")


class TestAssembly:
    def test_operands_are_handed_over_by_their_constraints(self) -> None:
        source = 'asm volatile("add.s32 %0, %1, 2;" : "=r"(x) : "r"(a[f(i, j)]) : "memory");'
        made = rewritten(f"__device__ void f() {{ {source} }}")
        expected = """
            ::opbridge_twin::ptx("add.s32 %0, %1, 2;", ::opbridge_twin::ptx_output("=r", (x)),
                                 ::opbridge_twin::ptx_input("r", (a[f(i, j)])));
        """
        assert "".join(expected.split()) in "".join(made.split())

    @pytest.mark.parametrize("source", ['asm("bar.sync 0;" ::: "memory");', '__asm__ __volatile__("bar.sync 0;");'])
    def test_a_statement_may_have_none(self, source: str) -> None:
        assert '::opbridge_twin::ptx("bar.sync0;");' in "".join(
            rewritten(f"__device__ void f() {{ {source} }}").split()
        )

    def test_branches_of_the_preprocessor_may_stand_in_it(self) -> None:
        lines = (
            "__device__ void f() {",
            '  asm volatile("{ mov.b32"',
            "#if WIDE",
            '    "%0, %1;" : "=r"(y) : "r"(a),',
            "#else",
            '    "%0, %2;" : "=r"(y) : "l"(b),',
            "#endif",
            '    "n"(c));',
            "}",
        )
        made = ["".join(line.split()) for line in rewritten("\n".join(lines)).splitlines()]
        output = ',::opbridge_twin::ptx_output("=r",(y))'
        assert made[3] == f'"%0,%1;"{output},::opbridge_twin::ptx_input("r",(a))'
        assert made[5] == f'"%0,%2;"{output},::opbridge_twin::ptx_input("l",(b))'
        assert made[7] == ',::opbridge_twin::ptx_input("n",(c)));'

    def test_macros_may_hold_it(self) -> None:
        made = rewritten('#define LANE(x) asm("mov.u32 %0, %%laneid;" : "=r"(x))')
        assert '::opbridge_twin::ptx_output("=r", (x))' in made

    @pytest.mark.parametrize(
        ("head", "name"),
        [
            ("__device__", "OB_TWIN_DEVICE_NV_IF_TARGET"),
            ("__host__ __device__", " NV_IF_TARGET"),
            ("", " NV_IF_TARGET"),
        ],
    )
    def test_targets_are_the_device_where_only_a_device_gets(self, head: str, name: str) -> None:
        assert name in rewritten(f"{head} void f() {{ NV_IF_TARGET(NV_PROVIDES_SM_70, (g();)) }}")

    def test_a_default_argument_may_have_braces(self) -> None:
        made = rewritten("__global__ void k(int n, S s = {}) { f(); }")
        assert made.index("launch(") > made.index("= {}) {")

    @pytest.mark.parametrize(
        "header", ["<cuda_runtime.h>", "<cuda.h>", "<cuda_fp16.h>", "<cooperative_groups.h>", "<vector>"]
    )
    def test_headers_that_are_there(self, header: str) -> None:
        assert rewritten(f"#include {header}") == f"#include {header}"


def test_variables_of_the_device_are_known_by_name() -> None:
    result = rewritten("__device__ int a = 3, b[2] = {1, 2};\n__constant__ float c[N];\n__device__ S s{1};")
    announced = re.findall(r"OPBRIDGE_TWIN_(VARIABLE|CONSTANT)\((\w+)", result)
    assert announced == [("VARIABLE", "a"), ("VARIABLE", "b"), ("CONSTANT", "c"), ("VARIABLE", "s")]
    for other in ("extern __device__ int x;", "template <class T> __device__ T x;", "__device__ int f(int x);"):
        assert "VARIABLE" not in rewritten(other)


def test_pointers_to_functions_are_variables() -> None:
    result = rewritten("__device__ int (*chosen)(int) = twice;\n__constant__ void (*const table[2])(float*) = {a, b};")
    assert "OPBRIDGE_TWIN_VARIABLE(chosen, 1)" in result
    assert "OPBRIDGE_TWIN_CONSTANT(table, 2)" in result


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("int f(int a[]) { }", "OPBRIDGE_TWIN_HOST int f(int a[]) { }"),
        ("void A::f() const { }", "OPBRIDGE_TWIN_HOST void A::f() const { }"),
        ("template <> void f<int>() { }", "template <> OPBRIDGE_TWIN_HOST void f<int>() { }"),
        ("int main() { }", "OPBRIDGE_TWIN_HOST int OPBRIDGE_TWIN_MAIN() { }"),
        ("namespace n { int main() { } }", "namespace n { OPBRIDGE_TWIN_HOST int main() { } }"),
        *(
            (source, source)
            for source in (
                "int main() { f([=] __device__ { }); }",
                "template <class T> void f() { }",
                "static int f() { }",
                "FAST inline int f() { }",
                'extern "C" int f() { }',
                "[[nodiscard]] int f() { }",
                "__device__ int f() { }",
                "struct A { int f() { } };",
                "void* operator new(size_t n) { }",
            )
        ),
    ],
)
def test_a_program_says_which_functions_are_the_hosts_alone(source: str, expected: str) -> None:
    assert rewritten(source, Unit(is_program=True)) == expected
    assert rewritten(source) == source
