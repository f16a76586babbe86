"""Collect what ejected operators also need: kernel sources, opbridge's headers with their license, and a build."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from opbridge.base import floating_point
from opbridge.base.errors import ManifestError
from opbridge.codegen.backend import Backend
from opbridge.codegen.eject.ejected_operators import Ejected, ejected, kernels_source, library_name
from opbridge.codegen.output_files import MARK
from opbridge.codegen.outputs.generated_sources import HEADER
from opbridge.waist.manifest import Manifest

_HEADERS = Path(__file__).parent.parent / "headers"
_INCLUDE = Path(__file__).parent.parent.parent / "include"
_INCLUDED = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
_KERNEL_FLAGS = ("-O3", "-g0", *floating_point.FLAGS)
_NOTE = HEADER.removeprefix("// ").rstrip()


def ejected_backend(manifest: Manifest, cpp_namespace: str | None) -> tuple[Backend, dict[str, str]]:
    """Return a backend to generate sources for, and the additional files that it needs."""
    backend, operators = ejected(manifest, cpp_namespace)
    files = {
        "Kernels.cpp": kernels_source(backend, operators),
        "KernelCall.h": HEADER + (_HEADERS / "KernelCall.h").read_text(encoding="utf-8"),
        "Sizes.h": HEADER + (_HEADERS / "Sizes.h").read_text(encoding="utf-8"),
        **dict(_opbridge_headers()),
        **_kernel_sources(manifest, operators),
        **_build(manifest.namespace, operators),
    }
    return backend, files


def _opbridge_headers() -> Iterator[tuple[str, str]]:
    about = f"// {MARK} from opbridge, Apache-2.0; see LICENSE in this folder.\n"
    for path in (*sorted((_INCLUDE / "opbridge").glob("*.h")), _INCLUDE / "vector" / "cmath"):
        yield f"include/{path.relative_to(_INCLUDE)}", about + path.read_text(encoding="utf-8")
    licence = next((str(file) for file in distribution("opbridge").files or () if file.name == "LICENSE"), None)
    if licence is not None:
        text = Path(str(distribution("opbridge").locate_file(licence))).read_text(encoding="utf-8")
        yield "include/opbridge/LICENSE", f"{MARK}: the licence of the headers in this folder.\n\n{text}"


def _kernel_sources(manifest: Manifest, operators: tuple[Ejected, ...]) -> dict[str, str]:
    """Return the kernel sources, and the files that they include from their own folders."""
    files: dict[str, str] = {}
    for each, kernel in ((one, kernel) for one in operators for kernel in one.spec.kernels):
        if kernel.path is None or kernel.is_library:
            continue
        path = each.spec.file(kernel)
        root = path.parents[len(Path(kernel.path).parts) - 1]
        waiting = [path]
        while waiting:
            file = waiting.pop()
            name = f"kernels/{file.relative_to(root).as_posix()}"
            if name in files:
                continue
            text = _text(file, each)
            # Kernel messages name a file and line, which must remain those of the author's file.
            files[name] = f'// {MARK}: copied from {file.name}.\n#line 1 "{file.name}"\n{text}'
            beside = (file.parent / included for included in _INCLUDED.findall(text))
            waiting += [found.resolve() for found in beside if found.is_file() and root in found.resolve().parents]
    return files


def _text(path: Path, each: Ejected) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"the kernel {path} of {each.schema.full_name} cannot be read: {error}"
        raise ManifestError(message, each.operator.where) from None


def _build(namespace: str, operators: tuple[Ejected, ...]) -> dict[str, str]:
    libraries = {each.source: library_name(namespace, each.source) for each in operators}
    pairs = "".join(f'    "{name}": "kernels/{source}",\n' for source, name in sorted(libraries.items()))
    modules = "".join(
        _MODULE.format(name=name, source=f"kernels/{source}", flags=" ".join(_KERNEL_FLAGS))
        for source, name in sorted(libraries.items())
    )
    return {
        "setup.py": _SETUP.format(note=_NOTE, namespace=namespace, libraries=pairs, flags=json.dumps(_KERNEL_FLAGS)),
        "CMakeLists.txt": _CMAKE.format(note=_NOTE, namespace=namespace, modules=modules),
        "README.md": _README.format(note=_NOTE, namespace=namespace),
    }


_SETUP = '''\
# {note}
"""Builds the operators of {namespace}: `pip install . --no-build-isolation`."""

from pathlib import Path

from setuptools import Extension, setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

HERE = Path(__file__).parent
KERNELS = {{
{libraries}}}
"""A library for each source of kernels, so that two may each have a function of one name."""
FLAGS = {flags}
INCLUDE = [str(HERE / "include" / "vector"), str(HERE / "include")]
"""The first has a <cmath> whose functions loops become vector code with."""

setup(
    name="{namespace}-ops",
    version="0.1.0",
    package_dir={{"": "python"}},
    packages=["{namespace}_ops"],
    package_data={{"": ["*.pyi", "py.typed"]}},
    ext_modules=[
        CppExtension(
            "_{namespace}",
            [path.relative_to(HERE).as_posix() for path in sorted(HERE.glob("*.cpp"))],
            include_dirs=[str(HERE), str(HERE / "include")],
            extra_compile_args=["-O2", "-g0"],
            libraries=["dl"],
        ),
        *(
            Extension(name, [source], include_dirs=INCLUDE, extra_compile_args=FLAGS)
            for name, source in KERNELS.items()
        ),
    ],
    cmdclass={{"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)}},
)
'''

_CMAKE = """\
# {note}
#
#   cmake -S . -B build -DCMAKE_PREFIX_PATH="$(python -c 'import torch; print(torch.utils.cmake_prefix_path)')"
#   cmake --build build --parallel
cmake_minimum_required(VERSION 3.18)
project({namespace}_ops LANGUAGES CXX)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_package(Torch REQUIRED)

file(GLOB sources CONFIGURE_DEPENDS ${{CMAKE_CURRENT_SOURCE_DIR}}/*.cpp)
add_library(_{namespace} MODULE ${{sources}})
target_include_directories(_{namespace} PRIVATE ${{CMAKE_CURRENT_SOURCE_DIR}} include)
target_link_libraries(_{namespace} PRIVATE ${{TORCH_LIBRARIES}} ${{CMAKE_DL_LIBS}})
set_target_properties(_{namespace} PROPERTIES PREFIX "" CXX_STANDARD 20
                      LIBRARY_OUTPUT_DIRECTORY ${{CMAKE_CURRENT_SOURCE_DIR}}/python)

# A library for each source of kernels, so that two may each have a function of one name.
{modules}"""

_MODULE = """\
add_library({name} MODULE {source})
target_include_directories({name} PRIVATE include/vector include)
target_compile_options({name} PRIVATE {flags})
set_target_properties({name} PROPERTIES PREFIX "" CXX_STANDARD 17
                      LIBRARY_OUTPUT_DIRECTORY ${{CMAKE_CURRENT_SOURCE_DIR}}/python)
"""

_README = """\
<!-- {note} -->
# The operators of {namespace}

| file | holds |
|---|---|
| `kernels/` | the kernels, as they were; those for a GPU or an NPU are yours to build, with `-Iinclude` |
| `Kernels.cpp` | for each operator: its outputs by the `out` rule, and the call of its kernel |
| `VariableType.cpp` | its gradients |
| `Register*.cpp`, `ADInplaceOrView.cpp`, `Functionalization.cpp` | what tells PyTorch of all that |
| `CustomFunctions.h`, `.cpp` | the operators as C++ functions |
| `python/{namespace}_ops` | the operators in Python |
| `include/opbridge` | the headers that kernels include, with their licence |
| `include/vector` | a `<cmath>` whose functions loops become vector code with |

    pip install . --no-build-isolation
    python -c "import {namespace}_ops"

Nothing of opbridge is needed.  Take the first line of a file away when you change it: generating again then stops
there, and does not overwrite your work.
"""
