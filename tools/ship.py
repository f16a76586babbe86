"""Compile what a wheel of opbridge includes for the Python that runs this, and write it into a folder.

python tools/ship.py [FOLDER]

Without a folder, the user's cache gets what a clone needs instead: `make setup` ends with this.

A wheel is compiled before there is an `opbridge._core`, so this file imports nothing that needs it.

These are the parts that all kernels share, the libraries of the twins and, where this Python has PyTorch or JAX, the
modules that connect them.  The cache also gets PyTorch's headers, precompiled for extensions, which are too large for a
wheel.  What the cache has is not compiled again.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from opbridge.base.errors import OpbridgeError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, build_many, kernel_parts, prebuilt, precompile
from opbridge.build.toolchains.build_context import BuildContext
from opbridge.build.toolchains.builder import inputs
from opbridge.build.toolchains.compiler_processes import Compilers
from opbridge.build.toolchains.torch_install import TorchInstall
from opbridge.twins.ascend import toolchain as ascend_twin
from opbridge.twins.cuda import rewritten_headers
from opbridge.twins.cuda import toolchain as cuda_twin
from opbridge.twins.cuda.nvcc.toolkit import NAMES_OF_LIBRARIES

_SOURCES = {
    "extension": "#include <torch/extension.h>\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}\n",
    "operators": "#include <torch/library.h>\n#include <ATen/ATen.h>\n",
}
"""Sources that need PyTorch's headers with and without Python."""


def ship(folder: Path) -> None:
    """Write all libraries into the folder, and report those that this Python cannot have."""
    _add_parts(folder)
    _add(_relocatable(_twins()), folder)
    if install := TorchInstall.at_hand():
        _try(lambda: _ship_for_torch(install, folder))
    if find_spec("jax"):
        _try(lambda: _ship_for_jax(folder))


def fill_cache() -> None:
    """Build all libraries into the user's cache, where a clone finds them."""
    build_many(_twins())
    rewritten_headers.rewrite_all_of_cccl()
    if install := TorchInstall.at_hand():
        from opbridge.frameworks.torch import native

        _try(lambda: native.build_adapter(install))
        _try(lambda: build_many(_for_torch()))
        _try(_precompile_for_torch)
    if find_spec("jax"):
        from opbridge.frameworks.jax import handler

        _try(lambda: build_many([handler.request()]))


def _for_torch() -> list[BuildRequest]:
    from opbridge.twins.ascend.device_for_torch import DEVICE as NPU
    from opbridge.twins.cuda.device_for_torch import DEVICE as CUDA

    return [NPU.request(), CUDA.request(), cuda_twin.bindings_request()]


def _precompile_for_torch() -> None:
    """Precompile PyTorch's headers for extensions, for operators, and for CUDA extensions that the judge builds."""
    from opbridge.authoring.extensions.requests import request_for

    with tempfile.TemporaryDirectory() as folder:
        for name, text in _SOURCES.items():
            source = Path(folder, f"{name}.cpp")
            source.write_text(text)
            precompile(request_for(name, [source], output=f"{name}.so"), slim=True)
    import opbridge.analysis.judge.process.preloaded_cuda  # noqa: F401 - builds what it needs as it is imported


def _add_parts(folder: Path) -> None:
    """Compile the parts that all kernels share, as every machine of this architecture can link them."""
    context = BuildContext(Cache(), print, Compilers())
    for request in kernel_parts.requests():
        (header,) = request.sources
        parts, files = kernel_parts.compiled_parts(header, request, context)
        prebuilt.add(request, parts.read_bytes(), files, folder)


def _try(step: Callable[[], object]) -> None:
    try:
        step()
    except OpbridgeError as error:
        print(f"not compiled in advance: {error}")


def _twins() -> list[BuildRequest]:
    libraries = map(cuda_twin.library_request, NAMES_OF_LIBRARIES)
    return [cuda_twin.runtime_request(), cuda_twin.profile_runtime_request(), ascend_twin.runtime_request(), *libraries]


def _relocatable(requests: Sequence[BuildRequest]) -> list[BuildRequest]:
    """Return requests for libraries that find the CUDA runtime in their own folder, as in the wheel."""
    elsewhere = f"-Wl,-rpath,{cuda_twin.runtime().parent}"
    return [
        replace(request, link_flags=tuple(flag for flag in request.link_flags if flag != elsewhere))
        for request in requests
    ]


def _ship_for_torch(install: TorchInstall, folder: Path) -> None:
    from opbridge.frameworks.torch import native

    shutil.copy(native.build_adapter(install), folder / native.prebuilt_name(install, native.current_suffix()))
    # PyTorch is in the process before them; where it is on this machine is nowhere to look for libraries.
    _add(_for_torch(), folder, without=str(install.lib))


def _ship_for_jax(folder: Path) -> None:
    from opbridge.frameworks.jax import handler

    _add([handler.request()], folder)


def _add(requests: Sequence[BuildRequest], folder: Path, without: str = "") -> None:
    cache = Cache()
    for request, library in zip(requests, build_many(requests, cache), strict=True):
        content = library.path.read_bytes()
        if without:
            content = content.replace(without.encode(), b"$ORIGIN".ljust(len(without), b"\0"))
        prebuilt.add(request, content, inputs(request, cache), folder)


if __name__ == "__main__":
    ship(Path(sys.argv[1])) if sys.argv[1:] else fill_cache()
