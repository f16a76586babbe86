"""The house: imports point down, frameworks stay in their adapters, and `import opbridge` costs next to nothing."""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Container, Iterator
from fnmatch import fnmatch
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from subprocesses import succeed

SOURCE = Path(__file__).parents[1] / "src" / "opbridge"

WINGS: dict[str, tuple[tuple[str, ...], ...]] = {
    "base": (
        ("durations", "elf_format", "errors", "excerpts", "safe_open", "tracebacks"),
        ("floating_point", "names", "progress", "remove_folder"),
    ),
    "waist": (("schema",), ("rules",), ("formulas",), ("manifest",), ("functions", "op")),
    "native": (),
    "build": (("cache", "cxx"), ("toolchains",), ("sources",)),
    "frameworks": (),
    "twins": (("common",), ("ascend", "cuda")),
    "models": (("scan",), ("conversion",)),
    "codegen": (),
    "authoring": (("compat", "extensions", "loading"), ("doctor", "wheel")),
    "verify": (("check",),),
    "analysis": (("profile",), ("bench",), ("judge", "port"), ("report",)),
    "cli": (),
}
"""From the bottom to the top, and so are the floors inside of one: a module imports from its own floor and from those
below it.  What has no floors is one."""

AT_THE_TOP = {"_version": "base", "_moved_names": "base", "_core": "native", "__main__": "cli"}
"""Modules beside the wings, and the wing that each stands with."""

FRAMEWORKS = {"torch", "numpy", "jax", "jaxlib", "mindspore", "ml_dtypes", "paddle"}
MAY_IMPORT_A_FRAMEWORK = (
    "frameworks/*/*",
    # PyTorch's own extensions, and its simulated devices.
    "authoring/extensions/*",
    "twins/ascend/torch_device/*",
    "twins/cuda/torch_device/*",
    # What holds the frameworks against each other, in processes of their own.
    "verify/check/*",
    "analysis/bench/*",
    "analysis/port/*",
    # The processes of a reference and of an answer.
    "analysis/judge/*",
    # The process of a model whose costs are counted.
    "analysis/profile/pytorch/*",
    # What runs models: PyTorch's to watch them, and MindSpore beside it to try their operators.
    "models/scan/*",
    # PyTorch's graphs, and what the source of another framework calls.
    "models/conversion/*",
    # Shows the frameworks themselves.
    "cli/demo/*",
)

# What a user would write.
_EXAMPLES = {"templates", "library"}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if not _EXAMPLES & {*path.parts})
HEIGHT = {f"{wing}.{room}": (at, floor) for at, (wing, floors) in enumerate(WINGS.items())
          for floor, rooms in enumerate(floors) for room in rooms}  # fmt: skip
HEIGHT |= {wing: (at, 0) for at, wing in enumerate(WINGS)}
HEIGHT |= {module: HEIGHT[wing] for module, wing in AT_THE_TOP.items()}


def name_of(path: Path) -> str:
    """Of a module, within opbridge."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def height_of(module: str) -> tuple[int, int] | None:
    """Of the wing and the floor that a module is or lies in; none where its wing has floors, and the module on none."""
    parts = module.split(".")
    room = ".".join(parts[: 2 if WINGS.get(parts[0]) else 1])
    return HEIGHT.get(room)


@cache
def imports(path: Path, text: str | None = None) -> tuple[tuple[str, str], ...]:
    """Return modules, and what is taken from them, by every import statement; those for type checkers and inside
    functions included.  `text` stands for the contents of the file."""
    return tuple(_imports(path, text))


def _imports(path: Path, text: str | None) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text() if text is None else text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
            yield from ((node.module or "", alias.name) for alias in node.names)


def imported_modules(path: Path) -> set[str]:
    return {name for module, item in imports(path) for name in (module, f"{module}.{item}")}


def imported_files(path: Path, known: Container[str], text: str | None = None) -> set[str]:
    """The modules of opbridge themselves: that of a folder only for what the folder's own file has."""
    found = (f"{module}.{item}" if f"{module}.{item}" in known else module for module, item in imports(path, text))
    return {name for name in found if name in known}


NAMED = {f"opbridge.{name_of(path)}".removesuffix(".__init__"): path for path in MODULES}
"""Every module, by its whole name."""


def pointing_up(path: Path, text: str | None = None) -> set[tuple[str, str]]:
    """A module, and each of those above it that it imports, by their names within opbridge."""
    name = name_of(path)
    height = height_of(name)
    assert height, f"{name} has no place yet: add it to WINGS and to docs/architecture.md"
    found = {module.removeprefix("opbridge.") for module in imported_files(path, NAMED, text)} - {"opbridge"}
    return {(name, module) for module in found if (height_of(module) or height) > height}


def test_imports_point_down() -> None:
    # The package's face names everything, and imports it when it is asked for.
    above = {pair for path in MODULES if name_of(path) != "__init__" for pair in pointing_up(path)}
    assert not above, "; ".join(f"{module} imports {other}, which stands above it" for module, other in above)


@pytest.mark.parametrize(
    "statement",
    [
        "from opbridge.authoring.extensions import extension",
        "import opbridge.cli.build",
        "def later():\n    from opbridge.twins.cuda import toolchain",
    ],
)
def test_a_planted_import_that_points_up_is_found(statement: str) -> None:
    planted = pointing_up(SOURCE / "build" / "sources" / "planted.py", statement)
    assert [module for module, _ in planted] == ["build.sources.planted"]


def test_only_adapters_import_a_framework() -> None:
    others = [
        path
        for path in MODULES
        if not any(fnmatch(path.relative_to(SOURCE).as_posix(), allowed) for allowed in MAY_IMPORT_A_FRAMEWORK)
    ]
    assert len(others) > 100
    imported = {name_of(path): {module.partition(".")[0] for module in imported_modules(path)} for path in others}
    assert not {name: found & FRAMEWORKS for name, found in imported.items() if found & FRAMEWORKS}


def test_no_module_imports_one_that_imports_it() -> None:
    """Not through others, not inside of a function and not for type checkers: what is in a circle is read as one."""
    try:
        TopologicalSorter({name: imported_files(path, NAMED) for name, path in NAMED.items()}).prepare()
    except CycleError as error:
        pytest.fail(f"these import each other: {' <- '.join(error.args[1])}")


HEADERS = sorted((*SOURCE.rglob("*.h"), *SOURCE.rglob("*.cuh"), *SOURCE.rglob("*.inc")))
HEADERS_BY_NAME: dict[str, list[Path]] = defaultdict(list)
for header in HEADERS:
    HEADERS_BY_NAME[header.name].append(header)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]+)[>\"]", re.MULTILINE)


def included(path: Path) -> set[str]:
    return {*INCLUDE.findall(path.read_text())}


def headers_named(path: Path, spelled: str) -> list[Path]:
    """Return the header that an include of this file names: next to it, or else each that its wing could find so."""
    if (path.parent / spelled).is_file():
        return [(path.parent / spelled).resolve()]
    ends = [header for header in HEADERS_BY_NAME[Path(spelled).name] if header.as_posix().endswith(f"/{spelled}")]
    own = [header for header in ends if header.relative_to(SOURCE).parts[:2] == path.relative_to(SOURCE).parts[:2]]
    return own or ends


def circle_of(graph: dict[Path, set[Path]]) -> list[str]:
    """Return the names of headers that include each other; none where no header does."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [path.relative_to(SOURCE).as_posix() for path in error.args[1]]
    return []


def graph_of_headers() -> dict[Path, set[Path]]:
    return {
        path: {found for name in included(path) for found in headers_named(path, name)} - {path} for path in HEADERS
    }


def test_no_header_includes_one_that_includes_it() -> None:
    assert not circle_of(graph_of_headers())


def test_headers_are_guarded_in_one_way() -> None:
    assert not [path for path in HEADERS if "#pragma once" in path.read_text()]


def test_a_planted_circle_of_headers_is_found() -> None:
    graph = graph_of_headers()
    header = SOURCE / "include" / "opbridge" / "tensor.h"
    graph[header].add(SOURCE / "include" / "opbridge" / "grid.h")
    assert {"include/opbridge/tensor.h", "include/opbridge/grid.h"} <= {*circle_of(graph)}


CPP_FLOORS = (
    ("include/opbridge", "include/compat", "include/bindings", "include/kernel_builder"),
    ("include/slim", "native", "twins/common/runtime", "twins/cuda/include", "twins/ascend/include", "analysis/bench"),
    ("native/core", "native/jax", "native/torch", "native/torch_bindings", "codegen/headers"),
    ("native/standalone", "twins/ascend/host", "twins/ascend/runtime", "twins/cuda/libraries", "twins/cuda/runtime"),
    ("twins/cuda/libraries/*", "twins/cuda/runtime/checks", "twins/cuda/torch", "twins/common/torch_device"),
    ("twins/cuda/runtime/engine", "twins/ascend/torch_device"),
    ("twins/cuda/runtime/cudart", "twins/cuda/runtime/ptx", "twins/cuda/profiling"),
    ("twins/cuda/runtime/driver",),
)
"""The folders of C++ from the bottom to the top: a file includes those of its own folder and of the floors below."""
CPP_SUFFIXES = {".h", ".hpp", ".cuh", ".inc", ".cpp", ".cu"}
CPP_FILES = sorted(path for path in SOURCE.rglob("*") if path.suffix in CPP_SUFFIXES and not _EXAMPLES & {*path.parts})
OURS = re.compile(r"[ \t]*#[ \t]*include[ \t]*(?:\"|<(?=opbridge))([^>\"]+)[>\"]")
"""Other includes in angle brackets name headers of the system, or of the vendor whose headers a twin replaces."""


def cpp_floor(path: Path) -> tuple[int, str]:
    """Return the floor of a file and its folder, which is the nearest one that CPP_FLOORS names."""
    folder = path.relative_to(SOURCE).parent
    for place in (folder, *folder.parents):
        for floor, patterns in enumerate(CPP_FLOORS):
            if any(place.match(pattern) for pattern in patterns):
                return floor, place.as_posix()
    pytest.fail(f"{folder} has no floor yet: add it to CPP_FLOORS")


def upward_includes(path: Path, text: str | None = None) -> set[str]:
    """Return the files that this one includes from another folder of its own floor, or from a floor above."""
    floor, folder = cpp_floor(path)
    names = OURS.findall(path.read_text() if text is None else text)
    headers = {header for name in names for header in headers_named(path, name)}
    others = {header: cpp_floor(header) for header in headers if not replaces_a_vendors(header)}
    return {header.relative_to(SOURCE).as_posix() for header, (other, named) in others.items()
            if named != folder and other >= floor}  # fmt: skip


def replaces_a_vendors(header: Path) -> bool:
    parts = header.relative_to(SOURCE).parts
    return parts[0] == "twins" and parts[2] == "include" and not parts[3].startswith("opbridge")


def test_includes_point_down() -> None:
    above = {path.relative_to(SOURCE).as_posix(): upward_includes(path) for path in CPP_FILES}
    assert not {path: found for path, found in above.items() if found}


@pytest.mark.parametrize(
    ("folder", "header"),
    [
        ("runtime/engine", "cudart/memory.h"),
        ("runtime/checks", "engine/launch.h"),
        ("libraries/cusolver", "cublas/arguments.h"),
    ],
)
def test_a_planted_include_that_points_up_is_found(folder: str, header: str) -> None:
    planted = upward_includes(SOURCE / "twins" / "cuda" / folder / "planted.cpp", f'#include "{header}"\n')
    assert [path.endswith(header) for path in planted] == [True]


def test_the_cuda_runtime_reaches_its_checks_by_one_header() -> None:
    runtime = SOURCE / "twins" / "cuda" / "runtime"
    outside = [path for path in runtime.rglob("*.*") if path.suffix in {".h", ".cpp"} and path.parent.name != "checks"]
    doors = {name for path in outside for name in included(path) if name.startswith(("checks/", "../checks/"))}
    assert doors == {"checks/checks.h"}


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


def test_names_of_files_say_what_is_inside() -> None:
    says_nothing = {"model", "models", "operators", "common", "misc", "utils", "util", "helpers", "base"}
    assert not {name_of(path) for path in MODULES if path.stem in says_nothing}


def test_every_public_name_is_there() -> None:
    import opbridge

    for name in opbridge.__all__:
        assert getattr(opbridge, name) is not None


def test_every_error_derives_from_one() -> None:
    import inspect

    from opbridge.base import errors

    classes = [value for _, value in inspect.getmembers(errors, inspect.isclass) if issubclass(value, BaseException)]
    assert classes
    assert all(issubclass(value, errors.OpbridgeError) for value in classes)


WITHOUT_THE_CUDA_TWIN = """
import importlib, sys

class Refusing:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if f"{name}.".startswith("opbridge.twins.cuda."):
            raise ModuleNotFoundError(f"there is no {name}")

sys.meta_path.insert(0, Refusing())
for name in sys.argv[1:]:
    importlib.import_module(name)
import numpy, opbridge
from opbridge.build.toolchains import toolchain_for
assert opbridge.formula("alone::f(Tensor x) -> Tensor", "2 * x")(numpy.ones(2)).tolist() == [2, 2]
print(*toolchain_for("ascend-twin").companions())
"""
JUDGES_CUDA = re.compile(r"analysis\.judge\b|cli\.judge_folder$|analysis\.report\.judge")
"""Modules that need the CUDA twin: most answers that are judged are CUDA."""
NOT_IMPORTED = re.compile(
    r"twins\.cuda\b|(torch_device|operator_projects|paddle|nnx_module|__main__|at_start|templates)\b"
)
"""Modules of the twin itself, those that start devices, and those of packages that are not installed here."""


@pytest.mark.real_process
def test_all_but_the_judge_works_without_the_cuda_twin() -> None:
    names = [name for name in NAMED if not JUDGES_CUDA.search(name) and not NOT_IMPORTED.search(name)]
    (runtime,) = succeed(WITHOUT_THE_CUDA_TWIN, *names).split()
    assert "ascend" in runtime
