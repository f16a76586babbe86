"""The build request of an extension, with its compiler and the settings of the CUDA twin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from opbridge.base.errors import CallError
from opbridge.build.sources.store import LANGUAGES, SIMULATED
from opbridge.build.toolchains import BuildRequest, toolchain_for
from opbridge.build.toolchains.host import suffixes as host_suffixes
from opbridge.build.toolchains.torch_sources import EXTENSION_NAME
from opbridge.waist.manifest.kernel_origins import TWINS

_DEVICES = ("cpu", "cuda", "cuda-twin")
_CUDA_SUFFIXES = (".cu",)


def request_for(
    name: str,
    sources: Sequence[Path],
    *,
    output: str,
    device: str | None = None,
    include_dirs: Iterable[Path] = (),
    defines: Iterable[tuple[str, str]] = (),
    flags: Iterable[str] = (),
    cuda_flags: Iterable[str] = (),
    link_flags: Iterable[str] = (),
    source_flags: Iterable[tuple[Path, tuple[str, ...]]] = (),
    root: Path | None = None,
) -> BuildRequest:
    """Return the build of an extension; without a device, for CUDA if one of its sources is CUDA.

    Raises:
        CallError: The device is unknown.
    """
    if device is None:
        device = "cuda" if any(path.suffix in _CUDA_SUFFIXES for path in sources) else "cpu"
    of_cuda_tensors = device == "cuda" and "cuda" in SIMULATED
    device = with_twin(device)
    if device not in _DEVICES:
        raise CallError(f"unknown device {device!r}; devices of an extension: {', '.join(_DEVICES)}")
    checks: tuple[tuple[str, str], ...] = ()
    if device == "cuda-twin":
        # Imported here because other builds would wait for it in vain.
        from opbridge.twins.cuda.torch_extension_sources import DEVICE, host_flags

        checks, cuda_flags = toolchain_for(LANGUAGES[device]).macros(), host_flags(cuda_flags)
        link_flags = _with_libraries(sources, tuple(link_flags))
        if of_cuda_tensors:
            checks = (*checks, (DEVICE, "1"))
    return BuildRequest(
        sources=tuple(sources),
        output=output,
        include_dirs=tuple(include_dirs),
        defines=(*defines, *checks, (EXTENSION_NAME, name)),
        suffix_flags=(*((suffix, tuple(flags)) for suffix in host_suffixes), (".cu", tuple(cuda_flags))),
        link_flags=tuple(link_flags),
        language=LANGUAGES[device],
        source_flags=tuple(source_flags),
        root=root,
    )


def with_twin(device: str) -> str:
    """Return the twin for `cuda` if this process simulates CUDA or the environment asks for it, or the device."""
    return "cuda-twin" if device == "cuda" and ("cuda" in SIMULATED or TWINS["cuda-twin"].is_asked_for) else device


def _with_libraries(sources: Sequence[Path], flags: tuple[str, ...]) -> tuple[str, ...]:
    """Link the twin's libraries in place of NVIDIA's, whether these are named or only called.

    A call without a named library works elsewhere, because a PyTorch for GPUs has loaded NVIDIA's.
    """
    from opbridge.twins.cuda import toolchain as cuda_twin
    from opbridge.twins.cuda.nvcc.toolkit import LIBRARIES, NAMES_OF_LIBRARIES

    text = "".join(source.read_text(encoding="utf-8", errors="replace") for source in sources if source.is_file())
    there = {f"-l{name}" for name in LIBRARIES}
    called = libraries_called(text)
    for library, names in NAMES_OF_LIBRARIES.items():
        named = {f"-l{name}" for name in names}
        there |= named
        if named.intersection(flags) or library in called:
            path = cuda_twin.library(library)
            flags = (*flags, str(path), f"-Wl,-rpath,{path.parent}")
    return tuple(flag for flag in flags if flag not in there)


def libraries_called(text: str) -> list[str]:
    """Return the NVIDIA libraries that a source needs and the twin has."""
    from opbridge.twins.cuda.nvcc.toolkit import NAMES_OF_LIBRARIES

    named = re.sub(r"\btorch_get_current_cuda_blas_handle\b", "cublasCreate", text)
    return [name for name in NAMES_OF_LIBRARIES if re.search(rf"\b{name}(_v2\.h|[A-Z]\w*\s*\()", named)]
