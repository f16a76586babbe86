"""The house: imports point down, frameworks stay in their adapters, and `import opbridge` costs next to nothing."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "opbridge"

LAYERS = (
    ("errors", "tracebacks", "_version"),
    ("schema", "_schema_parser"),
    ("rules",),
    ("manifest",),
    ("op", "signatures", "links"),
    ("announcements", "filesystem", "dependency_sets", "shared_cache", "cache", "floating_point", "twins"),
    ("toolchains",),
    ("_core", "native", "sources"),
    ("frameworks",),
    ("loading", "scan", "extensions", "compat", "functions", "npu"),
    ("wheel",),
    ("check", "doctor", "codegen", "bench"),
    ("report",),
    ("cli", "__main__"),
)
"""From the bottom to the top; a module imports from its own layer and from those before it."""

FRAMEWORKS = {"torch", "numpy", "jax", "jaxlib", "mindspore", "ml_dtypes", "paddle"}
MAY_IMPORT_A_FRAMEWORK = {
    "frameworks/numpy.py",
    "frameworks/torch.py",
    "frameworks/torch_dispatch.py",
    "frameworks/torch_flops.py",
    "frameworks/torch_functions.py",
    "frameworks/torch_module.py",
    "frameworks/torch_registration.py",
    "frameworks/torch_sharding.py",
    "frameworks/mindspore.py",
    "frameworks/mindspore_cell.py",
    "frameworks/mindspore_functions.py",
    "frameworks/mindspore_structure.py",
    "frameworks/jax.py",
    "frameworks/jax_batching.py",
    "frameworks/jax_call.py",
    "frameworks/jax_formulas.py",
    "frameworks/jax_functions.py",
    "frameworks/jax_handler.py",
    "frameworks/jax_aten.py",
    "frameworks/jax_library.py",
    "frameworks/jax_operator.py",
    "frameworks/jax_primitives.py",
    "frameworks/jax_run.py",
    "frameworks/jax_sharding.py",
    "frameworks/jax_varying.py",
    "frameworks/paddle.py",
    "frameworks/paddle_functions.py",
    "frameworks/aten.py",
    "frameworks/aten_values.py",
    "frameworks/mindspore_aten.py",
    "frameworks/mindspore_aten_eager.py",
    "extensions.py",
    # PyTorch's simulated device.
    "npu/__init__.py",
    "npu/amp.py",
    "npu/building.py",
    "npu/device.py",
    "npu/operators.py",
    "npu/streams.py",
    "npu/testing.py",
    "npu/stand_in/torch_npu/__init__.py",
    # Shows the frameworks themselves.
    "cli/demo.py",
    # What holds the frameworks against each other, in processes of their own.
    "check/arrays.py",
    "check/comparing.py",
    "check/dividing.py",
    "check/differentiating.py",
    "check/gradients.py",
    "check/plotting.py",
    "check/references.py",
    "check/subject.py",
    "check/worker.py",
    "check/hosts/numpy.py",
    "check/hosts/torch.py",
    "check/hosts/jax.py",
    "check/hosts/mindspore.py",
    "bench/ceilings.py",
    "check/hosts/paddle.py",
    # What runs models: PyTorch's to watch them, and MindSpore beside it to try their operators.
    "scan/catalog.py",
    "scan/probe.py",
    "scan/recording.py",
    "scan/running.py",
}

# What a user would write.
_EXAMPLES = {"templates", "demo_library"}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if not _EXAMPLES & {*path.parts})
HEIGHT = {part: height for height, layer in enumerate(LAYERS) for part in layer}


def part_of(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0].removesuffix(".py")


def imported_modules(path: Path) -> set[str]:
    """Every module named in an import statement, those for type checkers and inside functions included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    part = part_of(path)
    if part == "__init__":
        return  # the package's face names everything, and imports it when it is asked for
    assert part in HEIGHT, f"{part} has no layer yet: add it to LAYERS and to docs/architecture.md"
    for module in imported_modules(path):
        package, _, rest = module.partition(".")
        target = rest.partition(".")[0]
        if package == "opbridge" and target in HEIGHT:
            assert HEIGHT[target] <= HEIGHT[part], f"{part} imports {module}, which stands above it"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_adapters_import_a_framework(path: Path) -> None:
    if path.relative_to(SOURCE).as_posix() in MAY_IMPORT_A_FRAMEWORK:
        return
    assert not {module.partition(".")[0] for module in imported_modules(path)} & FRAMEWORKS


def test_importing_opbridge_imports_no_framework_and_no_yaml() -> None:
    code = "import json, sys, opbridge; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert not {name.partition(".")[0] for name in loaded} & (FRAMEWORKS | {"yaml", "subprocess"})


def test_loading_a_manifest_of_cpu_kernels_imports_no_framework(tmp_path: Path) -> None:
    (tmp_path / "twice.cpp").write_text(
        "#include <opbridge/kernel.h>\n"
        "void twice(ob::In<float> x, ob::Out<float> out) {\n"
        "  for (int64_t i = 0; i < x.numel(); ++i) out[i] = 2 * x[i];\n"
        "}\nOB_KERNEL(twice)\n"
    )
    (tmp_path / "ops.yaml").write_text(
        "namespace: imports\nops:\n  - func: twice(Tensor x) -> Tensor\n    out: x\n    kernels: {cpu: twice.cpp}\n"
    )
    code = "import json, sys, opbridge; opbridge.load('ops.yaml').twice; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=tmp_path)
    assert not {name.partition(".")[0] for name in json.loads(run.stdout)} & FRAMEWORKS


def test_every_public_name_is_there() -> None:
    import opbridge

    for name in opbridge.__all__:
        assert getattr(opbridge, name) is not None


def test_every_error_derives_from_one() -> None:
    import inspect

    from opbridge import errors

    classes = [value for _, value in inspect.getmembers(errors, inspect.isclass) if issubclass(value, BaseException)]
    assert classes
    assert all(issubclass(value, errors.OpbridgeError) for value in classes)
