"""The house: imports point down, frameworks stay in their adapters, and `import opbridge` costs next to nothing."""

from __future__ import annotations

import ast
import json
from collections.abc import Container, Iterator
from fnmatch import fnmatch
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from subprocesses import succeed

SOURCE = Path(__file__).parents[1] / "src" / "opbridge"

LAYERS = (
    ("elf_format", "errors", "excerpts", "openings", "tracebacks", "_version"),
    ("names",),
    ("schema", "cxx"),
    ("rules",),
    ("formulas",),
    ("manifest",),
    ("op", "functions"),
    ("durations",),
    ("progress", "cache", "floating_point", "twins"),
    ("toolchains",),
    ("_core", "native", "sources"),
    ("frameworks",),
    ("loading", "scan", "extensions", "compat", "npu", "cuda_twin", "autoload"),
    ("wheel", "conversion"),
    ("check", "doctor", "codegen"),
    ("costs",),
    ("bench",),
    ("report", "port", "judging"),
    ("cli", "notebook", "__main__"),
)
"""From the bottom to the top; a module imports from its own layer and from those before it."""

FRAMEWORKS = {"torch", "numpy", "jax", "jaxlib", "mindspore", "ml_dtypes", "paddle"}
MAY_IMPORT_A_FRAMEWORK = (
    "frameworks/*/*",
    # PyTorch's own extensions, and its simulated devices.
    "extensions/*",
    "npu/*",
    "cuda_twin/*",
    # What holds the frameworks against each other, in processes of their own.
    "check/*",
    "bench/*",
    "port/*",
    # The processes of a reference and of an answer.
    "judging/*",
    # The process of a model whose costs are counted.
    "costs/pytorch/*",
    # What runs models: PyTorch's to watch them, and MindSpore beside it to try their operators.
    "scan/*",
    # PyTorch's graphs, and what the source of another framework calls.
    "conversion/*",
    # Shows the frameworks themselves.
    "cli/demo/*",
)

# What a user would write.
_EXAMPLES = {"templates", "library"}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if not _EXAMPLES & {*path.parts})
HEIGHT = {part: height for height, layer in enumerate(LAYERS) for part in layer}


def name_of(path: Path) -> str:
    """Of a module, within opbridge."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def layer_of(module: str) -> str | None:
    """The longest name in LAYERS that the module is or lies in."""
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in names if name in HEIGHT), None)


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """Modules, and what is taken from them, by every import statement; those for type checkers and inside functions
    included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
            yield from ((node.module or "", alias.name) for alias in node.names)


def imported_modules(path: Path) -> set[str]:
    return {name for module, item in imports(path) for name in (module, f"{module}.{item}")}


def imported_files(path: Path, known: Container[str]) -> set[str]:
    """The modules of opbridge themselves: that of a folder only for what the folder's own file has."""
    found = (f"{module}.{item}" if f"{module}.{item}" in known else module for module, item in imports(path))
    return {name for name in found if name in known}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    if name_of(path) == "__init__":
        return  # the package's face names everything, and imports it when it is asked for
    part = layer_of(name_of(path))
    assert part, f"{name_of(path)} has no layer yet: add it to LAYERS and to docs/architecture.md"
    for module in imported_modules(path):
        target = layer_of(module.removeprefix("opbridge.")) if module.startswith("opbridge.") else None
        assert target is None or HEIGHT[target] <= HEIGHT[part], f"{part} imports {module}, which stands above it"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_adapters_import_a_framework(path: Path) -> None:
    if any(fnmatch(path.relative_to(SOURCE).as_posix(), allowed) for allowed in MAY_IMPORT_A_FRAMEWORK):
        return
    assert not {module.partition(".")[0] for module in imported_modules(path)} & FRAMEWORKS


def test_no_module_imports_one_that_imports_it() -> None:
    """Not through others, not inside of a function and not for type checkers: what is in a circle is read as one."""
    modules = {f"opbridge.{name_of(path)}".removesuffix(".__init__"): path for path in MODULES}
    try:
        TopologicalSorter({name: imported_files(path, modules) for name, path in modules.items()}).prepare()
    except CycleError as error:
        pytest.fail(f"these import each other: {' <- '.join(error.args[1])}")


@pytest.mark.real_process
def test_importing_opbridge_imports_no_framework_and_no_yaml() -> None:
    code = "import json, sys, opbridge; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(succeed(code))
    assert not {name.partition(".")[0] for name in loaded} & (FRAMEWORKS | {"yaml", "subprocess"})


@pytest.mark.real_process
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
    assert not {name.partition(".")[0] for name in json.loads(succeed(code, cwd=tmp_path))} & FRAMEWORKS


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
