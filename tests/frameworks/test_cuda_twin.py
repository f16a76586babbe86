"""CUDA kernels without a GPU: the twin runs them for tensors on the CPU, in every framework."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from subprocesses import python

import opbridge as ob
from opbridge.base.errors import CallError, KernelError, UnsupportedError
from opbridge.waist.op import OpLibrary

X = np.array([1.0, 2.0, 3.0], np.float32)
Y = np.array([3.0, 2.0, 1.0], np.float32)


@pytest.fixture(scope="module")
def folder(kernels: Path) -> Path:
    return kernels / "cuda"


@pytest.fixture
def lib(folder: Path) -> OpLibrary:
    library: OpLibrary = ob.load(folder / "ops.yaml", device="cuda-twin")
    return library


def test_numpy(lib: OpLibrary) -> None:
    np.testing.assert_array_equal(lib.product(X, Y), X * Y)


def test_many_blocks_of_threads(lib: OpLibrary) -> None:
    x = np.random.default_rng(0).standard_normal((37, 1001), np.float32)
    np.testing.assert_array_equal(lib.product(x, x), x * x)
    np.testing.assert_array_equal(lib.product(x.T, x.T), (x * x).T)


def test_torch_with_its_gradient_from_a_kernel_of_its_own(lib: OpLibrary) -> None:
    torch = pytest.importorskip("torch")
    x, y = (torch.from_numpy(array.copy()).requires_grad_() for array in (X, Y))
    lib.product(x, y).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == (Y.tolist(), X.tolist())
    batch = torch.vmap(lib.product.torch)(torch.ones(4, 3), torch.full((4, 3), 2.0))
    assert batch.tolist() == [[2.0, 2.0, 2.0]] * 4


def test_mindspore_in_both_modes(lib: OpLibrary, run: Callable[..., Any]) -> None:
    ms = pytest.importorskip("mindspore")
    x, y = ms.Tensor(X), ms.Tensor(Y)
    product = lib.product.mindspore

    def network(x, y):  # type: ignore[no-untyped-def]
        return product(x, y)

    np.testing.assert_array_equal(run(network, x, y).asnumpy(), X * Y)
    gradient = ms.grad(network, (0, 1))(x, y)
    np.testing.assert_array_equal([part.asnumpy() for part in gradient], [Y, X])


def test_jax_under_jit(lib: OpLibrary) -> None:
    jax = pytest.importorskip("jax")
    product = lib.product.jax
    np.testing.assert_array_equal(jax.jit(product)(X, Y), X * Y)
    gradient = jax.jit(jax.grad(lambda x, y: product(x, y).sum(), (0, 1)))(X, Y)
    np.testing.assert_array_equal(gradient, [Y, X])


class TestWhichKernelRuns:
    def test_without_a_word_the_cpus_own(self, folder: Path) -> None:
        assert ob.load(folder / "ops.yaml").shifted(X, 5).tolist() == (X + 5).tolist()

    def test_the_twins_where_the_library_is_loaded_for_it(self, lib: OpLibrary) -> None:
        assert lib.shifted(X, 5).tolist() == (X + 1000).tolist()

    def test_the_twins_where_there_is_no_other(self, folder: Path) -> None:
        x = np.arange(32, dtype=np.float32)
        assert ob.load(folder / "ops.yaml").only_twin(x).tolist() == (2 * x).tolist()

    def test_a_cuda_kernel_does_not_run_on_the_cpu_unasked(self, folder: Path) -> None:
        message = r"obtwin::product has no kernel for cpu; it has cuda: product.cu(.|\n)*device=\"cuda-twin\""
        with pytest.raises(KernelError, match=message):
            ob.load(folder / "ops.yaml").product(X, Y)

    def test_the_environment_asks_for_every_library(self, folder: Path) -> None:
        program = f"import opbridge as ob; print(ob.load({str(folder / 'ops.yaml')!r}).product([1.0], [2.0]))"
        program = program.replace("([1.0], [2.0])", "(*map(__import__('numpy').float32, ([1.5], [2])))")
        environment = {**os.environ, "OPBRIDGE_CUDA_TWIN": "1"}
        done = python(program, env=environment)
        assert (done.stdout, done.stderr) == ("[3.]\n", "")

    def test_a_file_and_a_text(self, folder: Path) -> None:
        file = folder / "product.cu"
        rules = {"schema": "obtwin::product_of_file(Tensor x, Tensor y) -> Tensor", "out": "x", "device": "cuda-twin"}
        assert ob.load(f"{file}:product", **rules)(X, Y).tolist() == (X * Y).tolist()
        rules["schema"] = "obtwin::product(Tensor x, Tensor y) -> Tensor"
        assert ob.inline(file.read_text(), **rules)(X, Y).tolist() == (X * Y).tolist()

    def test_a_manifest_says_itself_what_is_for_which_device(self, folder: Path) -> None:
        with pytest.raises(CallError, match="a manifest says itself which kernels are for cuda"):
            ob.load(folder / "ops.yaml", device="cuda")

    def test_cuda_is_no_kernel_for_the_cpu(self, folder: Path) -> None:
        with pytest.raises(UnsupportedError, match=r"product.cu is CUDA(.|\n)*`cuda-twin`"):
            ob.load(folder / "product.cu", schema="obtwin::product(Tensor x, Tensor y) -> Tensor", out="x")


class TestFailures:
    """Found while the kernel runs, with the argument's name; the next call is as if nothing had been."""

    REPORT = (
        r"obtwin::only_twin: cuda-twin: twice: read of 4 bytes out of bounds \[out-of-bounds\]\n"
        r"  where   .*shifted.cu:7, thread \(31, 0, 0\) of block \(0, 0, 0\)\n"
        r"  address 0x[0-9a-f]+, 0 bytes after the end of the 124 bytes of the tensor `x`\n"
    )

    def test_a_check_becomes_the_operators_error(self, lib: OpLibrary) -> None:
        for _ in range(2):
            with pytest.raises(KernelError, match=self.REPORT):
                lib.only_twin(np.ones(31, np.float32))
        assert lib.only_twin(np.ones(32, np.float32)).sum() == 64

    def test_in_torch_and_jax(self, lib: OpLibrary) -> None:
        torch = pytest.importorskip("torch")
        with pytest.raises(KernelError, match=self.REPORT):
            lib.only_twin(torch.ones(31))
        jax = pytest.importorskip("jax")
        with pytest.raises(KernelError, match=self.REPORT):
            lib.only_twin(jax.numpy.ones(31, "float32"))

    def test_in_mindspore(self, lib: OpLibrary, run: Callable[..., Any]) -> None:
        ms = pytest.importorskip("mindspore")
        only_twin = lib.only_twin.mindspore

        def network(x):  # type: ignore[no-untyped-def]
            return only_twin(x) + 0

        with pytest.raises(RuntimeError, match=self.REPORT):
            run(network, ms.Tensor(np.ones(31, np.float32))).asnumpy()

    @pytest.mark.parametrize("checks", ["0", "1"])
    def test_a_launch_that_no_gpu_takes(self, checks: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPBRIDGE_TWIN_CHECKS", checks)
        source = """
        __global__ void nothing() {}
        extern "C" int too_many(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes,
                                void* stream, void* extra) {
          nothing<<<1, 4096>>>();
          return 0;
        }
        """
        op = ob.inline(source, schema="obtwin::too_many(Tensor x) -> Tensor", out="x", device="cuda-twin")
        with pytest.raises(KernelError, match=r"obtwin::too_many: .*(invalid configuration|bad-launch)"):
            op(X)

    def test_code_of_the_host_that_reads_a_tensor(self) -> None:
        """On a GPU's tensor this ends the process."""
        source = """
        extern "C" int peek(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes,
                            void* stream, void* extra) {
          return static_cast<float*>(params[0])[1] > 100;
        }
        """
        op = ob.inline(source, schema="obtwin::peek(Tensor x) -> Tensor", out="x", device="cuda-twin")
        with pytest.raises(
            KernelError, match=r"device memory in host code(.|\n)*4 bytes into the 12 bytes of the tensor `x`"
        ):
            op(X)

    def test_a_function_that_fails_by_itself(self) -> None:
        source = """
        extern "C" int seven(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes,
                             void* stream, void* extra) { return 7; }
        """
        op = ob.inline(source, schema="obtwin::seven(Tensor x) -> Tensor", out="x", device="cuda-twin")
        with pytest.raises(KernelError, match=r"obtwin::seven: .*returned 7"):
            op(X)


def test_one_tensor_for_two_arguments(lib: OpLibrary) -> None:
    np.testing.assert_array_equal(lib.product(X, X), X * X)


def test_without_checks_nothing_is_watched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPBRIDGE_TWIN_CHECKS", "0")
    library = ob.load(folder / "ops.yaml", device="cuda-twin")
    x = np.arange(100, dtype=np.float32)[:31]
    assert library.only_twin(x)[:31].tolist() == (2 * x).tolist()
