"""Kernels that run, without checks, as loops from one barrier to the next."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.twins.cuda.conftest import KERNELS, Array, Kernels

from opbridge.twins.cuda.rewriting import Unit, rewrite

MOST = 96
SIZES = [(96, 1, 96), (96, 1, 61), (16, 6, 96), (33, 2, 40), (1, 1, 1)]


@pytest.fixture(scope="module", params=[False, True], ids=["fast", "checked"])
def kernels(request: pytest.FixtureRequest, twin: Callable[..., Kernels]) -> Kernels:
    return twin("phases.cu", checks=request.param)


def run(kernels: Kernels, which: int, width: int, height: int, n: int) -> tuple[Array, Array]:
    x, y = np.arange(1, n + 1, dtype=np.float32), np.empty(MOST, np.float32)
    kernels.run("run_in_phases", which, width, height, n, x, y)
    return np.append(x, np.zeros(width * height - n, np.float32)), y


@pytest.mark.parametrize(("width", "height", "n"), SIZES)
def test_what_a_thread_has_is_there_behind_a_barrier(kernels: Kernels, width: int, height: int, n: int) -> None:
    x, y = run(kernels, 0, width, height, n)
    sums = sum(np.roll(x, -k) for k in (1, 2, 3)) + 2
    np.testing.assert_array_equal(y[:n], (sums[::-1] + x + x + 1)[:n])
    assert not y[n:].any()


@pytest.mark.parametrize(("width", "height", "n"), SIZES)
def test_what_is_alike_in_all_threads_is_so_in_a_phase(kernels: Kernels, width: int, height: int, n: int) -> None:
    x, y = run(kernels, 1, width, height, n)
    step, turns = width * height, 0
    while step > 1:
        x, step, turns = np.roll(x, -step), step // 2, turns + 1
    x = np.roll(x, -1) + turns if n > 1 else x
    np.testing.assert_array_equal(y[:n], np.roll(x, turns)[:n])


@pytest.mark.parametrize(("width", "height", "n"), SIZES)
def test_threads_go_their_own_ways_in_a_phase(kernels: Kernels, width: int, height: int, n: int) -> None:
    x, y = run(kernels, 2, width, height, n)
    i = np.arange(len(x))
    values = x * (i % 3 > 0) + (i % 2 == 0)
    np.testing.assert_array_equal(y[:n], (values + x[0] + 2 * len(x))[:n])


def in_phases(body: str, before: str = "", head: str = "int n, const float* x, float* y") -> str | None:
    """The rewritten kernel, where it runs in phases."""
    code = rewrite(f"{before}\n__global__ void k({head}) {{ {body} }}\n", "k.cu", Unit())
    return code if "launch_in_phases" in code else None


def test_every_kernel_above_runs_in_phases() -> None:
    text = (KERNELS / "phases.cu").read_text()
    assert rewrite(text, "phases.cu", Unit()).count("launch_in_phases") == 3


SYNC, SHARED = "__syncthreads();", "__shared__ float s[256]; const int t = threadIdx.x; s[t] = x[t];"


@pytest.mark.parametrize(
    "body",
    [
        f"{SHARED} {SYNC} y[t] = s[n - t];",
        f"{SHARED} {SYNC} if (t < n) {{ for (int i = 0; i < t; ++i) {{ if (s[i] > 1) break; }} }} y[t] = s[n - t];",
        f"{SHARED} for (int i = n; i > 0; i >>= 1) {{ if (t < i) s[t] += s[t + i]; {SYNC} }} y[t] = s[0];",
        f"{SHARED} float a = s[t]; {SYNC} {{ float b = a; {SYNC} a += b; }} y[t] = atomicAdd(&y[0], a) + __ldg(x + t);",
        f"{SHARED} {SYNC} for (int i = t; i < n; ++i) {{ if (s[i] > 0) atomicAdd(p + i, 1); }} y[t] = atomicAdd(p, 1);",
        f"{SHARED} int m = n; while (m > 1) {{ {SYNC} s[t] += 1; m /= 2; }} y[t] = fmaxf(s[t], (float)m);",
    ],
)
def test_barriers_where_all_come_by(body: str) -> None:
    assert in_phases(body)


@pytest.mark.parametrize(
    "body",
    [
        *(f"if (threadIdx.x < n) {SYNC}", f"{SHARED} if (t < n) {{ {SYNC} }}", f"{SHARED} for (;;) {{ {SYNC} }}"),
        *(f"{SHARED} if (t >= n) return; {SYNC} y[t] = s[0];", f"{SHARED} do {{ {SYNC} }} while (--n);"),
        f"{SHARED} for (int i = t; i < n; ++i) {{ {SYNC} }}",
        f"{SHARED} for (int i = 0; i < x[0]; ++i) {{ {SYNC} }}",
        f"{SHARED} for (int i = 0; i < n; ++i) {{ if (s[i] > 1) break; {SYNC} }}",
        f"{SHARED} for (int i = 0; i < n; ++i) {{ if (s[i] > 1) continue; {SYNC} }}",
        f"{SHARED} int m = n; while (m > 0) {{ {SYNC} if (s[0] > 1) m -= 1; }}",
        f"{SHARED} int m = n; while (m > 0) {{ {SYNC} m -= t; }}",
        f"{SHARED} {SYNC} if (n > 0) {{ {SYNC} }} else y[t] = 1;",
        f"{SHARED} n -= 1; {SYNC} y[t] = s[n];",
        f"{SHARED} {SYNC} y[t] = __shfl_down_sync(~0u, s[t], 1);",
        f"{SHARED} {SYNC} while (atomicCAS(p, 0, 1)) {{ }} y[t] = s[0];",
        f"{SHARED} {SYNC} if (t) while (!atomicAdd(p, 0)) {{ }} else atomicAdd(p, 1); y[t] = s[0];",
        f"{SHARED} {SYNC} for (;;) {{ if (atomicAdd(p, 0)) break; }} y[t] = s[0];",
        f"{SHARED} {SYNC} do {{ }} while (!atomicOr(p, 0)); y[t] = s[0];",
        f"{SHARED} float a = s[t], *p = &a; {SYNC} *p = 1; {SYNC} y[t] = a;",
        f"{SHARED} float a[2] = {{}}; float* p = a; {SYNC} *p = 1; y[t] = a[0];",
        f"{SHARED} float& a = s[t]; {SYNC} a = 1;",
        f"{SHARED} Own a = s[t]; {SYNC} y[t] = a;",
        f"{SHARED} {SYNC} y[t] = unknown(s[t]);",
        f"{SHARED} {SYNC} y[t] = operation.of(s[t]);",
        f"{SHARED} {SYNC} auto f = [&] {{ return s[t]; }}; y[t] = f();",
        f"volatile __shared__ float s[32]; {SYNC} y[0] = s[0];",
        f"{SHARED} {SYNC} k<<<1, 1>>>(n, x, y);",
        f"\n#if N\n{SYNC}\n#endif\n",
    ],
)
def test_barriers_where_they_may_not_or_what_cannot_be_told(body: str) -> None:
    assert not in_phases(body)


def test_what_a_kernel_calls_has_no_barriers_of_its_own() -> None:
    body = f"{SHARED} {SYNC} y[t] = f(s[t]);"
    assert in_phases(body, "template <class T> __device__ T f(T a) { return sqrtf(a) + T(1); }")
    assert not in_phases(body, f"__device__ float f(float a) {{ {SYNC} return a; }}")
    assert not in_phases(body, "__device__ float f(float a);")
    assert not in_phases(
        body, f"__device__ float g(float a) {{ {SYNC} return a; }} __device__ int f(int a) {{ g(a); }}"
    )
    assert not in_phases(body, f"#define f(a) ({SYNC[:-1]}, a)")


def test_an_argument_that_a_function_changes_is_each_thread_s() -> None:
    body = f"{SHARED} {SYNC} step(n); y[t] = s[n];"
    assert in_phases(body, "__device__ void step(int n) { n += 1; }")
    assert not in_phases(body, "__device__ void step(int& n) { n += 1; }")


def test_a_macro_may_name_the_thread() -> None:
    body = f"__shared__ float s[256]; for (int i = T; i < n; ++i) {{ s[i] = 1; {SYNC} }}"
    assert in_phases(body, "#define T 0")
    assert not in_phases(body, "#define OF threadIdx\n#define T OF.x")


def test_what_names_and_numbers_tell_is_worked_out_anew_and_the_rest_kept() -> None:
    code = in_phases(f"{SHARED} const int i = n * (t >> 1); float a = s[t]; {SYNC} y[i] = a;") or ""
    begins = "OB_TWIN_EACH_THREAD(const int t = threadIdx.x; const int i = n * (t >> 1); opbridge_twin_type_a a ="
    assert begins in code
    of_device = in_phases(f"{SHARED} const int i = n * count; {SYNC} y[i] = s[t];", "__device__ int count;") or ""
    assert "opbridge_twin_type_i i = opbridge_twin_kept_i" in of_device
