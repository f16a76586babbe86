"""Kernels that say first which threads take part, on a processor whose vectors store all of their elements or none."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import pytest
from tests.twins.cuda.conftest import CHECKS, KERNELS, Kernels

from opbridge.build.cxx.tokens import tokenize
from opbridge.build.toolchains import BuildRequest, build
from opbridge.twins.cuda.rewriting import Unit, rewrite
from opbridge.twins.cuda.rewriting.grid_strides import find_grid_stride
from opbridge.twins.cuda.rewriting.guards import find_guard

SOURCE = KERNELS / "guards.cu"
NAMES = ("inside", "left early", "two dimensions", "either", "parameter changes", "strided", "in steps", "until")
WITHOUT_MASKS = ("-march=x86-64-v3",) if platform.machine() == "x86_64" else ()


@pytest.fixture(scope="module", params=[False, True], ids=["fast", "checked"])
def guarded(request: pytest.FixtureRequest) -> Kernels:
    defines = CHECKS if request.param else ()
    wanted = BuildRequest((SOURCE,), "guards.so", language="cuda-twin", defines=defines, flags=WITHOUT_MASKS)
    return Kernels(build(wanted).path)


@pytest.mark.parametrize("which", range(len(NAMES)), ids=NAMES)
@pytest.mark.parametrize("n", [1, 31, 32, 64, 1001])
def test_those_that_pass_run_and_no_other(guarded: Kernels, which: int, n: int) -> None:
    x, y = np.arange(n, dtype=np.float32), np.full(n + 64, -1, np.float32)
    guarded.run("run_guarded", which, n, x, y, y.size)
    np.testing.assert_array_equal(y, np.append(2 * x, np.full(64, -1)))


def question(body: str, defined: str = "") -> str | None:
    source = f"{{ {body} }}"
    guard = find_guard(tokenize(source), 0, frozenset(defined.split()))
    return guard.question if guard else None


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ("if (threadIdx.x < n) y[i] = 1;", "return bool(threadIdx.x < n);"),
        ("int i = threadIdx.x >> 5; if (i < n >> 1) y[i] = 1;", "int i = threadIdx.x >> 5; return bool(i < n >> 1);"),
        ("const int i = threadIdx.x; if (i >= n) return; y[i] = f(i);",
         "const int i = threadIdx.x; return !(i >= n);"),
        ("int i = threadIdx.x, j = (int) x / 2; if (i >= n || j < 0) { return; }",
         "int i = threadIdx.x, j = (int) x / 2; return !(i >= n || j < 0);"),
        ("std::size_t i = size_t(threadIdx.x) * N; /* all */ if (i < n) y[i] = 1; else y[i] = 2;",
         "std::size_t i = size_t(threadIdx.x) * N; return bool(i < n);"),
    ],
)  # fmt: skip
def test_what_is_asked_first(body: str, asked: str) -> None:
    assert question(body) == asked


@pytest.mark.parametrize(
    "body",
    [
        *("y[i] = 1;", "int i; if (i < n) y[i] = 1;", "if constexpr (i < n) y[i] = 1;", "if () y[i] = 1;"),
        *("if (x[i] < n) y[i] = 1;", "if (*p) y[i] = 1;", "if (p->n) y[i] = 1;", "if ((int) * p) y[i] = 1;"),
        *("if (f(i)) y[i] = 1;", "if (f<int>(i)) y[i] = 1;", "if ((f)(i)) y[i] = 1;", "if (i++ < n) y[i] = 1;"),
        *("if ((i = j) < n) y[i] = 1;", "if (i -= 1) y[i] = 1;", "if (__CUDA_ARCH__) y[i] = 1;", 'if ("") y[i] = 1;'),
        *("int i = atomicAdd(p, 1); if (i < n) y[i] = 1;", "int i = 1, *p = q; if (i < n) y[i] = 1;"),
        *("int i = j = 2; if (i < n) y[i] = 1;", "static int i = 2; if (i < n) y[i] = 1;"),
        *("i = 2; if (i < n) y[i] = 1;", "auto& i = j; if (i < n) y[i] = 1;", "f(i); if (i < n) y[i] = 1;"),
        *("if (i < n) for (;;) y[i] = 1;", "if (i < n) __syncthreads();", "__shared__ int s; if (i < n) y[i] = 1;"),
        *("if (NEXT < n) y[i] = 1;", "int i = NEXT; if (i < n) y[i] = 1;", "\n#if A\nif (i < n) y[i] = 1;\n#endif\n"),
    ],
)
def test_where_asking_twice_could_change_something_or_gains_nothing(body: str) -> None:
    first = "const int t = threadIdx.x; "
    assert question(f"{first}if (i < n) y[i] = 1;") is not None
    assert question(first + body, defined="NEXT") is None


def test_a_guard_that_says_the_same_of_all_threads_is_none() -> None:
    assert question("if (n > 0) y[threadIdx.x] = 1;") is None


def test_macros_that_may_do_more_than_name_a_value_are_seen() -> None:
    kernel = "__global__ void k(int n, int* y) { if (threadIdx.x * ID < n) y[threadIdx.x] = 1; }"

    def is_guarded(definition: str) -> bool:
        return "GUARD" in rewrite(f"#define {definition}\n{kernel}", "k.cu", Unit())

    assert is_guarded("ID (1 << 3)")
    assert not is_guarded("ID atomicAdd(&count, 1)")
    assert not is_guarded("NEXT next()\n#define ID NEXT + 1")


def test_a_guard_does_not_move_a_line() -> None:
    text = Path(SOURCE).read_text()
    result = rewrite(text, str(SOURCE), Unit())
    assert result.count("OPBRIDGE_TWIN_GUARDED_KERNEL") == 5
    assert result.count("OPBRIDGE_TWIN_KERNEL_IN_TURNS") == 2
    assert [line.count("if (") for line in result.splitlines()] == [line.count("if (") for line in text.splitlines()]


START, STEP = "blockIdx.x * blockDim.x + threadIdx.x", "blockDim.x * gridDim.x"
LOOP = f"for (int i = {START}; i < n; i += {STEP})"


def takes_turns(body: str, others_wait: bool = False) -> bool:
    guard = find_grid_stride(tokenize(f"{{ {body} }}"), 0, frozenset({"NEXT"}), others_wait)
    return guard is not None and guard.takes_turns


@pytest.mark.parametrize(
    "body",
    [
        f"{LOOP} y[i] = f(x[i]);",
        f"{LOOP} {{ for (int k = 0; k < m; ++k) {{ y[i] += x[k]; }} atomicAdd(y, x[i]); }}",
        f"int t = {START}; size_t s = (size_t)gridDim.x * blockDim.x; for (size_t i = t; i < n * m; i += s) y[i] = 1;",
        f"int b = blockIdx.x, t = threadIdx.x; for (long i = t + b * blockDim.x; i < n; i += {STEP}) {{ y[i] = t; }}",
    ],
)
def test_turns_are_taken_in_loops_of_one_stride(body: str) -> None:
    assert takes_turns(body)


@pytest.mark.parametrize(
    "body",
    [
        *(f"{LOOP} {{ y[i] = 1; }} y[0] = 2;", f"y[0] = 2; {LOOP} y[i] = 1;", f"float s = 0; {LOOP} s += x[i];"),
        *(f"{LOOP} {{ if (x[i]) break; }}", f"{LOOP} {{ if (x[i]) return; }}", f"{LOOP} {{ __syncthreads(); }}"),
        *(
            f"{LOOP} n = 3;",
            f"{LOOP} n -= x[i];",
            f"{LOOP} ++i;",
            f"{LOOP} i--;",
            f"{LOOP} f(&n);",
            f"{LOOP} y[i] = NEXT;",
        ),
        *(f"{LOOP} y[i] = blockIdx.x;", f"{LOOP} y[i] = gridDim.x;", f"int b = blockIdx.x; {LOOP} y[i] = b;"),
        f"for (int i = {START}; i < x[0]; i += {STEP}) y[i] = 1;",
        f"for (int i = {START}; i != n; i += {STEP}) y[i] = 1;",
        f"for (int i = {START}; i < n + threadIdx.x; i += {STEP}) y[i] = 1;",
        f"for (int i = {START}; i < n; i += 2 * {STEP}) y[i] = 1;",
        f"for (int i = threadIdx.x; i < n; i += {STEP}) y[i] = 1;",
        "for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = 1;",
        f"for (int i = blockIdx.x * (blockDim.x + threadIdx.x); i < n; i += {STEP}) y[i] = 1;",
    ],
)
def test_no_turns_where_one_could_matter_to_the_next(body: str) -> None:
    assert not takes_turns(body)


def test_no_turns_where_what_is_called_may_wait() -> None:
    assert takes_turns(f"{LOOP} {{ if (x[i] > 0) y[i] = 1; }}", others_wait=True)
    assert not takes_turns(f"{LOOP} y[i] = f(x[i]);", others_wait=True)
