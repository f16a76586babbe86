"""Output g: the files that make a package of the sources, with only PyTorch and a compiler.

setup.py, CMakeLists.txt     either builds python/_<namespace>.so from all sources here and in kernels/
tests/test_operators.py      tests that do not depend on what the operators compute
README.md                    which files are generated, and which are left to write
"""

from __future__ import annotations

import json

from opbridge.base import floating_point
from opbridge.codegen.backend import COMPOSITE_KEYS, Backend, BackendKernel, BackendOperator
from opbridge.codegen.outputs.generated_sources import HEADER, python_packages

_NOTE = HEADER.removeprefix("// ").rstrip()


def package(backend: Backend) -> dict[str, str]:
    """Return the build files, the tests and the README."""
    namespace = backend.target.namespace
    packages = python_packages(backend)
    return {
        "setup.py": _SETUP.format(
            note=_NOTE,
            namespace=namespace,
            packages=json.dumps(packages),
            flags=json.dumps(("-O2", "-g0", *floating_point.FLAGS)),
        ),
        "CMakeLists.txt": _CMAKE.format(note=_NOTE, namespace=namespace, flags=" ".join(floating_point.FLAGS)),
        "tests/test_operators.py": _tests(backend, packages[0]),
        "README.md": _readme(backend, packages),
    }


def _tests(backend: Backend, package_name: str) -> str:
    declared = [str(operator.schema) for operator in backend.custom]
    has_kernels = [
        (operator.schema.full_name, kernel.key)
        for operator in backend.operators
        for kernel in operator.kernels
        if kernel.key not in COMPOSITE_KEYS
    ]
    return _TESTS.format(
        note=_NOTE,
        package=package_name,
        declared="".join(f"    {text!r},\n" for text in declared),
        kernels="".join(f"    ({name!r}, {key!r}),\n" for name, key in has_kernels),
    )


def _readme(backend: Backend, packages: tuple[str, ...]) -> str:
    target = backend.target
    to_write = sorted({kernel.function for kernel in _kernels(backend.operators) if not kernel.launch})
    called = sorted({kernel.launch.function for kernel in _kernels(backend.operators) if kernel.launch})
    parts = [_README.format(note=_NOTE, namespace=target.namespace, key=target.key, package=packages[0],
                            count=len(backend.operators), own=len(backend.custom))]  # fmt: skip
    if to_write:
        listed = "".join(f"- `{function}`\n" for function in to_write)
        parts.append(f"## Kernels to write\n\n`Kernels.h` declares them; their sources go into `kernels/`.\n\n{listed}")
    if called:
        listed = "".join(f"- `{function}`\n" for function in called)
        about = "`Launcher.h` finds and calls them; it is yours, and says which values they get."
        parts.append(f"## Functions of the library\n\n{about}\n\n{listed}")
    return "\n".join(parts)


def _kernels(operators: tuple[BackendOperator, ...]) -> list[BackendKernel]:
    return [kernel for operator in operators for kernel in operator.kernels if not kernel.shared]


_SETUP = '''\
# {note}
"""Builds the operators of {namespace}: `pip install . --no-build-isolation`, or `python setup.py build_ext --inplace`.

Sources are compiled in parallel (MAX_JOBS says how many at once, if ninja is installed).  CFLAGS and LDFLAGS add
options, such as a library to link with.
"""

import sys
from pathlib import Path

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

HERE = Path(__file__).parent
SOURCES = [path.relative_to(HERE).as_posix() for path in sorted([*HERE.glob("*.cpp"), *HERE.glob("kernels/*.cpp")])]
# A kernel that nobody has written is an error here, and not where the library is loaded.
REFUSE_UNDEFINED = ["-Wl,--no-undefined"] if sys.platform == "linux" else []

setup(
    name="{namespace}-ops",
    version="0.1.0",
    package_dir={{"": "python"}},
    packages={packages},
    package_data={{"": ["*.pyi", "py.typed"]}},
    ext_modules=[
        CppExtension(
            "_{namespace}",
            SOURCES,
            include_dirs=[str(HERE)],
            extra_compile_args={flags},
            extra_link_args=REFUSE_UNDEFINED,
        )
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

file(GLOB sources CONFIGURE_DEPENDS ${{CMAKE_CURRENT_SOURCE_DIR}}/*.cpp ${{CMAKE_CURRENT_SOURCE_DIR}}/kernels/*.cpp)
add_library(_{namespace} MODULE ${{sources}})
target_include_directories(_{namespace} PRIVATE ${{CMAKE_CURRENT_SOURCE_DIR}})
target_compile_options(_{namespace} PRIVATE {flags})
target_link_libraries(_{namespace} PRIVATE ${{TORCH_LIBRARIES}} ${{CMAKE_DL_LIBS}})
set_target_properties(_{namespace} PROPERTIES PREFIX "" CXX_STANDARD 20
                      LIBRARY_OUTPUT_DIRECTORY ${{CMAKE_CURRENT_SOURCE_DIR}}/python)
if(UNIX AND NOT APPLE)
  target_link_options(_{namespace} PRIVATE -Wl,--no-undefined)
endif()
"""

_TESTS = '''\
# {note}
"""Every operator is there as it was declared, with its kernels."""

import pytest
import torch

import {package}  # noqa: F401 - it loads the library

DECLARED = [
{declared}]
HAVE_KERNELS = [
{kernels}]


@pytest.mark.parametrize("text", DECLARED)
def test_an_operator_is_as_declared(text):
    schema = torch._C.parse_schema(text)
    assert torch._C._get_schema(schema.name, schema.overload_name) == schema


@pytest.mark.parametrize(("name", "key"), HAVE_KERNELS)
def test_an_operator_has_its_kernel(name, key):
    assert torch._C._dispatch_has_kernel_for_dispatch_key(name, key)
'''

_README = """\
<!-- {note} -->
# The operators of {namespace} for PyTorch's {key}

{count} operators, {own} of them {namespace}'s own.  Everything here is generated from declarations, but for `kernels/`,
`Launcher.h` and `Helpers.h`, which are yours.

```sh
python setup.py build_ext --inplace        # or: pip install . --no-build-isolation, or CMake
PYTHONPATH=python python -m pytest tests
```

```python
import {package}                           # loads the library; torch.ops.{namespace} has the operators from then on
```
"""
