"""Recognize sources that include PyTorch's headers by their text, and add the flags they need.

`torch/extension.h` includes all of PyTorch and takes half a minute to compile. A kernel that calls tensor
operators needs a third of that, and one with Python bindings a little more. include/slim has a header for each
case under the same name; each is precompiled once. Code before the header in a source could change the
header's meaning. If so, the source is compiled with the full headers.
"""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge.build.toolchains.interface import COMPATIBLE, INCLUDE, BuildRequest, InstalledLibrary, SlimHeaders
from opbridge.build.toolchains.table import toolchain_for
from opbridge.build.toolchains.torch_install import TorchInstall
from opbridge.build.toolchains.torch_preambles import INCLUDE_LINE, macros_before
from opbridge.build.toolchains.torch_signatures import says_only_types

EXTENSION_NAME = "TORCH_EXTENSION_NAME"
"""The macro that names the Python module; a request that defines it always builds for PyTorch."""

_SLIM = INCLUDE / "slim"
_TORCH_HEADER = re.compile(r"(torch|ATen|c10)/")
_STABLE_HEADER = re.compile(r"torch/csrc/stable/")
_UNSTABLE_HEADER = re.compile(r"(ATen|c10)/|torch/(?!csrc/|headeronly/)")
_STABLE_FLAG = re.compile(r"-DTORCH_(TARGET_VERSION|STABLE_ONLY)\b")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PYTHON = re.compile(r"pybind11|PYBIND11|\bpy\s*::|\bPy(?!Torch)[A-Z_]|\bTHP[A-Z]")
_BINDINGS = re.compile(r"pybind11|PYBIND11|\bpy\s*::|\bTHP[A-Z]|\btorch\s*::\s*(autograd|wrap_pybind_function)\b")
_MODULE = re.compile(r"\bPYBIND11_MODULE\s*\([^()]*\)\s*\{[^{}]*\}")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:ifn?def|if|elif|else|endif|pragma[ \t]+once)\b.*", re.MULTILINE)
_BEYOND_SLIM = re.compile(r"\btorch\s*::\s*(data|jit|load|nn|optim|python|save|serialize)\b")
_LOOP = re.compile(
    r"<<\s*<|\b(for|while|goto|do)\b|\bparallel_|\bAT_DISPATCH_|#\s*pragma|\bstd\s*::\s*(transform|accumulate)\b"
)


@dataclass(frozen=True)
class _Text:
    path: Path
    text: str
    """The file's text without comments."""
    includes: tuple[tuple[str, Path | None], ...]
    """The names in the #include lines, each with its file in the request's folders or None."""

    @property
    def names_torch(self) -> bool:
        return any(_TORCH_HEADER.match(name) for name, _ in self.includes)

    @property
    def is_stable(self) -> bool:
        """Whether the file uses only PyTorch's stable ABI."""
        names = [name for name, _ in self.includes]
        return any(map(_STABLE_HEADER.match, names)) and not any(map(_UNSTABLE_HEADER.match, names))


def with_torch(request: BuildRequest) -> BuildRequest:
    """Return the request with the flags for PyTorch, if its sources or project headers include PyTorch headers."""
    request = _without_torchs_folders(request)
    texts = list(_own_texts(request))
    is_extension = any(macro == EXTENSION_NAME for macro, _ in request.defines)
    if not is_extension and not any(text.names_torch for text in texts):
        return request
    install = TorchInstall.at_hand()
    if install is None:
        # Let the compiler report the missing header: it knows whether the #include line is active.
        return request
    install.check_version()
    uses_python = is_extension or any(_PYTHON.search(text.text) for text in texts)
    flags = _compile_flags(install)
    bindings = tuple(text.path for text in texts if text.path in request.sources and _only_binds(text))
    if not bindings or request.language != "cuda-twin" or len(bindings) == len(request.sources):
        bindings = ()
    library = _library(request, install, texts, flags, bindings)
    shims = toolchain_for(request.language).sources_for_torch([text.text for text in texts])
    python = ((EXTENSION_NAME, Path(request.output).stem),) if uses_python and not is_extension else ()
    return replace(
        request,
        # PyTorch's own binaries run on any processor of the architecture; make the extensions equally portable.
        portable=True,
        standard="c++20",
        defines=(*request.defines, *python),
        flags=(*flags, *_optimization(texts), *request.flags),
        link_flags=(*_link_flags(install, request.language, uses_python), *request.link_flags),
        sources=(*request.sources, *shims),
        source_flags=(
            *request.source_flags,
            *_stability(request, texts),
            *((path, ("-DOPBRIDGE_TWIN_STABLE_SHIM",)) for path in shims),
        ),
        library=library,
        bindings=bindings if library.binding_headers else (),
    )


def _without_torchs_folders(request: BuildRequest) -> BuildRequest:
    """Return the request without the PyTorch include folders.

    PyTorch headers never belong to a project, and a request for PyTorch needs them after the slim ones.
    """
    folders = {folder: Path(os.path.normpath(folder)) for folder in request.include_dirs}
    # Most requests do not involve PyTorch; do not search for it then.
    install = TorchInstall.at_hand() if any("torch" in path.parts for path in folders.values()) else None
    theirs = install.include_dirs if install else ()
    own = tuple(folder for folder, path in folders.items() if path not in theirs)
    return replace(request, include_dirs=own)


def _compile_flags(install: TorchInstall) -> tuple[str, ...]:
    folders = (*install.include_dirs, sysconfig.get_path("include"))
    system = [word for folder in folders for word in ("-isystem", str(folder))]
    return ("-DTORCH_API_INCLUDE_EXTENSION_H", "-ffunction-sections", *system)


def _optimization(texts: list[_Text]) -> tuple[str, ...]:
    """Return the flag for a lower optimization level, for sources that only call operators.

    Such sources do not become faster by optimization, which takes half of their compile time.
    """
    return () if any(_LOOP.search(text.text) for text in texts) else ("-O1",)


def _stability(request: BuildRequest, texts: list[_Text]) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield the flag that marks each source of the stable ABI.

    The twin includes PyTorch's headers before a source's own lines, so a macro in the source would come too late.
    """
    for text in texts:
        if request.language == "cuda-twin" and text.path in request.sources and text.is_stable:
            yield text.path, ("-DTORCH_STABLE_ONLY",)


def _link_flags(install: TorchInstall, language: str, uses_python: bool) -> tuple[str, ...]:
    names = ["torch_cpu", "c10"]
    if uses_python:
        names.insert(0, "torch_python")
    # The code that registers PyTorch's CUDA kernels is never called by name, so force the linker to keep it.
    cuda = ("torch_cuda", "c10_cuda") if language == "cuda" and install.has_cuda else ()
    return (
        f"-L{install.lib}",
        *(("-Wl,--no-as-needed", *(f"-l{name}" for name in cuda)) if cuda else ()),
        *(f"-l{name}" for name in names),
        # Let the library find this PyTorch, whatever process loads it.
        f"-Wl,-rpath,{install.lib}",
        # The headers' unused functions for Python would need Python's symbols, which no library has.
        "-Wl,--gc-sections",
        *(("-Wl,-z,undefs",) if uses_python else ()),
    )


def _identity(install: TorchInstall) -> tuple[str, ...]:
    """Return PyTorch's version, and file sizes and times that differ in a rebuilt PyTorch of the same version."""
    stamps = [(name, os.stat(install.lib / name)) for name in ("libc10.so", "libtorch_cpu.so")]
    files = [f"{name} {status.st_size} {status.st_mtime_ns}" for name, status in stamps]
    return ("torch", install.version, install.revision, *files)


def _library(
    request: BuildRequest,
    install: TorchInstall,
    texts: list[_Text],
    flags: tuple[str, ...],
    bindings: tuple[Path, ...],
) -> InstalledLibrary:
    by_path = {text.path: text for text in texts}
    before = tuple((source, _before(request, source, by_path)) for source in request.sources)
    library = InstalledLibrary(install.folder, _identity(install), before=before)
    if all(macros is None for _, macros in before):
        return library

    def headers(kind: str, header: str = "torch/extension.h", worth_from: int = 4) -> SlimHeaders:
        name = f"torch-{install.version}-{kind}.h"
        namespaces = ("torch", "at", "c10")
        return SlimHeaders(_SLIM / kind, _SLIM / kind / header, name, namespaces, flags, worth_from=worth_from)

    library = replace(library, whole_headers=headers("whole", "everything.h", worth_from=1))
    if any(_BEYOND_SLIM.search(text.text) for text in texts):
        return library
    slim, of_bindings = _umbrellas(headers, texts, bindings)
    return replace(library, slim_headers=slim, binding_headers=of_bindings)


def _before(request: BuildRequest, source: Path, texts: dict[Path, _Text]) -> frozenset[str] | None:
    """Return the macros before PyTorch's headers in a source; None if it has other code there."""
    flags = (*(f"-D{macro}" for macro, _ in request.defines), *request.flags_for(source))
    is_stable = texts[source].is_stable or any(map(_STABLE_FLAG.match, flags))
    if request.language == "cuda-twin" and not is_stable:
        # The twin includes them through opbridge_twin/torch.h before the first line of any source.
        return frozenset()
    return macros_before(source, texts, COMPATIBLE)


def _umbrellas(
    slim_headers: Callable[[str], SlimHeaders], texts: list[_Text], bindings: tuple[Path, ...]
) -> tuple[SlimHeaders, SlimHeaders | None]:
    """Return the slim headers for the kernels, and those for the bindings if they differ."""
    others = [text for text in texts if text.path not in bindings]
    if any(_BINDINGS.search(text.text) for text in others):
        return slim_headers("python"), None
    of_bindings = [text for text in texts if text.path in bindings]
    if of_bindings and all(says_only_types(text.text) for text in of_bindings):
        return slim_headers("tensors"), replace(slim_headers("signatures"), leaves_python_to_library=True)
    return slim_headers("tensors"), slim_headers("python") if bindings else None


def _only_binds(text: _Text) -> bool:
    """Return whether the source only declares functions and registers them with Python, without other code."""
    module = _MODULE.search(text.text)
    if module is None:
        return False
    around = _CONDITION.sub("", INCLUDE_LINE.sub("", text.text[: module.start()] + text.text[module.end() :]))
    return not re.search(r"[{#]", around)


def _own_texts(request: BuildRequest) -> Iterator[_Text]:
    """Yield the sources and the headers they include from the request's folders, without opbridge's own headers."""
    waiting, seen = list(request.sources), set(request.sources)
    while waiting:
        path = waiting.pop()
        text = _COMMENT.sub(" ", path.read_text(encoding="utf-8", errors="replace"))
        found = {name: _found(name, path.parent, request) for _, name in INCLUDE_LINE.findall(text)}
        yield _Text(path, text, tuple(found.items()))
        for header in found.values():
            if header is not None and header not in seen:
                seen.add(header)
                waiting.append(header)


def _found(name: str, beside: Path, request: BuildRequest) -> Path | None:
    if name.startswith("opbridge/"):
        return None
    places = (os.path.normpath(folder / name) for folder in (beside, *request.include_dirs))
    return next((Path(place) for place in places if os.path.isfile(place)), None)
