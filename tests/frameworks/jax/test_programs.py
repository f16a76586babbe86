"""Programs that outlive the process or the operator that they were made with, and programs on many devices."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from forked_python import PYTHON
from jax import export

import opbridge as ob
from opbridge.base.errors import CallError, KernelError
from opbridge.build.toolchains import BuildRequest, build
from opbridge.waist.op import OpLibrary

TWICE = """
#include <opbridge/kernel.h>
void twice(ob::In<float> x, ob::Out<float> out) {{ out[0] = {} * x[0]; }}
OB_KERNEL(twice)
"""
CHECKS = [export.DisabledSafetyCheck.custom_call("opbridge")]


def run(program: str, *arguments: object, **environment: str) -> str:
    """What a Python program prints."""
    command = [PYTHON, "-W", "error", "-c", program, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def exported(function: Any, *inputs: Any) -> Any:
    return export.export(jax.jit(function), disabled_checks=CHECKS)(*inputs)


LOADS = """
import sys, jax, numpy as np, opbridge as ob
from jax import export
program = export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
ob.load(sys.argv[2]).product.jax
print(np.asarray(program.call(np.float32([1, 2, 3]))).tolist())
"""


def test_an_exported_program_runs_in_a_process_that_loads_the_library(
    lib: OpLibrary, kernels: Path, tmp_path: Path
) -> None:
    def slope(x: Any) -> Any:
        return jax.grad(lambda a: lib.scaled_add(lib.product(a, a), a, alpha=0.5).sum())(x)

    (tmp_path / "program").write_bytes(exported(slope, jnp.ones(3)).serialize())
    assert run(LOADS, tmp_path / "program", kernels / "ops.yaml") == "[2.5, 4.5, 6.5]"


def test_without_the_library_the_program_says_what_is_missing(lib: OpLibrary, kernels: Path, tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(exported(lambda x: lib.scaled_add(x, x), jnp.ones(3)).serialize())
    other = tmp_path / "other.cpp"
    other.write_text(TWICE.format(2))
    program = LOADS.replace(
        "ob.load(sys.argv[2]).product.jax",
        "ob.load(sys.argv[2], schema='programs::twice(Tensor x) -> Tensor', out='x').jax",
    )
    said = program.replace("print(", "try: print(") + "except jax.errors.JaxRuntimeError as error: print(error)\n"
    assert "obtest::scaled_add is not loaded in this process; load its library" in run(
        said, tmp_path / "program", other
    )


def test_symbolic_sizes(lib: OpLibrary) -> None:
    x = jnp.ones((2, 3))
    specs = export.symbolic_args_specs((x, x.T), ["a, b", "b, c"])
    program = exported(lib.matrix_product.jax, *specs)
    assert str(program.out_avals[0].shape) == "(a, c)"
    np.testing.assert_array_equal(program.call(jnp.ones((4, 5)), jnp.ones((5, 6))), np.full((4, 6), 5))
    slope = exported(jax.grad(lambda a: lib.product(a, a).sum()), *export.symbolic_args_specs((x,), "a, b"))
    np.testing.assert_array_equal(slope.call(jnp.ones((4, 5))), np.full((4, 5), 2))
    with pytest.raises(CallError, match=r"obtest::product: expected inputs of one shape, got \(a, b\), \(b, c\)"):
        exported(lib.product.jax, *specs)


def test_programs_on_disk_are_found_again_by_another_process(kernels: Path, tmp_path: Path) -> None:
    program = f"""
import jax, opbridge as ob
jax.config.update("jax_compilation_cache_dir", {str(tmp_path)!r})
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
op = ob.load({str(kernels / "ops.yaml")!r}).scaled_add
print(jax.jit(lambda x: op(x, x, alpha=3.0))(jax.numpy.ones(2)).tolist())
"""
    assert run(program) == "[4.0, 4.0]"
    held = sorted(path.name for path in tmp_path.iterdir() if path.name.endswith("-cache"))
    assert held
    assert run(program) == "[4.0, 4.0]"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.endswith("-cache")) == held


def test_defining_an_operator_again_reaches_programs_that_are_compiled() -> None:
    def define(factor: int, **changes: Any) -> Any:
        fields = {"schema": "programs::twice(Tensor x) -> Tensor", "out": "x"} | changes
        return ob.inline(TWICE.format(factor), **fields)

    op = define(2)
    compiled = jax.jit(lambda x: op(x))
    x = jnp.ones(1)
    assert compiled(x) == op(x) == 2
    define(3)
    assert compiled(x) == op(x) == op.jax(x) == 3
    define(4, out={"shape": [2], "dtype": "float32"})
    assert op(x).shape == (2,)
    # JAX's own error for a program that it has run before.
    with pytest.raises(ValueError, match="programs::twice is declared otherwise than when this program was made"):
        compiled(x)


DEVICES = """
import sys, functools, numpy as np, jax, jax.numpy as jnp, opbridge as ob
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
lib = ob.load(sys.argv[1])
mesh = Mesh(np.array(jax.devices()), ("i",))
assert mesh.size == 4
if hasattr(jax, "shard_map"):
    from jax import shard_map
else:
    from jax.experimental.shard_map import shard_map
X, W = jnp.arange(24.0).reshape(8, 3) / 24, jnp.arange(1.0, 4.0)


def total(x, w):
    return jax.lax.psum(lib.product(x, lib.scale_columns(x, w)).sum(), "i")


def expected(x, w):
    return (x * x * w).sum()


parts = shard_map(total, mesh=mesh, in_specs=(P("i"), P()), out_specs=P())
for way in (jax.value_and_grad, lambda f, **k: jax.hessian(f, **k), lambda f, **k: jax.jacfwd(f, **k)):
    for number in (0, 1):
        got = jax.jit(way(parts, argnums=number))(X, W)
        jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-5), got, way(expected, argnums=number)(X, W))

spread = jax.device_put(X, NamedSharding(mesh, P("i")))
np.testing.assert_array_equal(jax.jit(lib.product.jax)(spread, spread), X * X)
np.testing.assert_array_equal(jax.pmap(lib.product.jax)(X.reshape(4, 2, 3), X.reshape(4, 2, 3)).reshape(8, 3), X * X)
print("done")
"""


def test_many_devices(kernels: Path) -> None:
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    assert run(DEVICES, kernels / "ops.yaml", **flags) == "done"


def test_a_library_that_is_loaded_before_jax_is_imported(kernels: Path) -> None:
    program = f"""
import opbridge as ob
op = ob.load({str(kernels / "ops.yaml")!r}).product
import jax
print(op(jax.numpy.ones(2), jax.numpy.ones(2)).tolist())
"""
    assert run(program) == "[1.0, 1.0]"


def test_a_program_for_another_device_is_made_without_that_device(tmp_path: Path) -> None:
    source = tmp_path / "far.cpp"
    source.write_text(TWICE.format(2))
    library = build(BuildRequest((source,), "far.so")).path
    op = ob.load(f"{library}:twice", schema="programs::far(Tensor x) -> Tensor", out="x", device="cuda")
    with pytest.raises(KernelError, match="programs::far has no kernel for cpu; it has kernels for cuda"):
        op.jax(jnp.ones(2))
    program = export.export(jax.jit(op.jax), platforms=["cuda"], disabled_checks=CHECKS)(jnp.ones(2))
    assert "programs::far" in program.mlir_module()


def test_a_call_is_the_last_of_a_program_with_a_small_product() -> None:
    pytest.importorskip("torch")
    add = ob.aten("aten::add.Tensor").jax  # XLA aborts where a typed call is the root of such a program
    x = jnp.ones((2, 2))
    program = jax.jit(lambda x: add(x @ x, 1.0))
    np.testing.assert_array_equal(program(x), np.full((2, 2), 3.0))
    np.testing.assert_array_equal(exported(program, x).call(x), np.full((2, 2), 3.0))
