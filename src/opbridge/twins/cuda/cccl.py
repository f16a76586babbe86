"""Thrust, CUB and libcu++ (CCCL) as installed, with the headers that hold device code rewritten on first use.

Rewriting all of them takes longer than compiling a program, and most programs include none.  The compiler therefore
finds a stop, a header with an `#error`, before each installed header.  A compilation that meets stops fails; then the
headers that they stand for are rewritten, and it is run again.  So no source is compiled with a header that lacks its
rewriting, however it reaches that header.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from opbridge.twins.common.rewritten_sources import INCLUDE_LINE
from opbridge.twins.cuda.rewriting import Unit, rewrite

PACKAGES = {"nvidia-cuda-cccl-cu12": "nvidia/cuda_cccl/include"}
"""The package to install, and the folder of its headers below the folder of installed packages."""

MARK = "-DOPBRIDGE_TWIN_CCCL=1"
"""The compiler option that says that the headers are installed."""

STOP = "opbridge_rewrites_this_header_when_a_source_that_includes_it_is_compiled"
"""The text by which a compiler's messages show that it has met a stop: one word, which no option makes it break."""

_SYSTEMS, _OF_A_SYSTEM = {"HOST": "cpp", "DEVICE": "cuda"}, re.compile(r"<__THRUST_(\w+)_SYSTEM_ROOT/([\w./]+)>")
"""The systems that Thrust runs on in the twin, and how its macros name their headers."""
_STOP_FILE = "opbridge-stop"
_CUDA = re.compile(r"<<<|__shared__|\basm\b|_KERNEL_ATTRIBUTES|__global__|\bNV_(?:IF|DISPATCH)_|\b__CUDA_ARCH__\b")
_KERNEL_WORDS = frozenset(
    {"CCCL_DETAIL_KERNEL_ATTRIBUTES", "CUB_DETAIL_KERNEL_ATTRIBUTES", "THRUST_DETAIL_KERNEL_ATTRIBUTES"}
)
_DEVICE_WORDS = frozenset({"_CCCL_DEVICE", "_CCCL_HOST_DEVICE", *_KERNEL_WORDS})
_HOST_WORDS = frozenset({"_CCCL_HOST", "_CCCL_HOST_DEVICE", "CUB_RUNTIME_FUNCTION", "THRUST_RUNTIME_FUNCTION"})

_HOST_ATOMIC = re.compile(r"(NV_IS_HOST,\s*\()(?=[^;]*\b__atomic_(?!\w+_fence_)\w+_host\()")
_HOST_FENCE = "((void) _Scope; _CUDA_VSTD::atomic_thread_fence(__m);)"
_SCOPE = "const ::opbridge_twin::Scope __for_block("


def find() -> Path | None:
    """Return the folder of the headers, or None if no package provides them."""
    for folder in sys.path:
        for place in PACKAGES.values():
            if (headers := Path(folder, place)).is_dir():
                return headers
    return None


def write_stops(headers: Path, folder: Path) -> None:
    """Write a header that stops the compiler for each installed one, for the compiler to find before the original."""
    stop = folder / _STOP_FILE
    stop.write_text(f"#error {STOP}\n", encoding="ascii")
    for file in headers.rglob("*"):
        # The headers of nv/ tell host code from device code, and are not rewritten.
        if (name := file.relative_to(headers)).parts[0] != "nv" and file.is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            _copy(stop, folder / name)


def stops_met(said: str, folder: Path) -> set[str]:
    """Return the names of the headers whose stops a compiler has met, by its messages."""
    if STOP not in said:
        return set()
    return set(re.findall(rf"{re.escape(str(folder))}/([\w./+-]+)", said))


def rewrite_headers(names: Iterable[str], headers: Path, folder: Path) -> None:
    """Replace the stops of these headers, and of all that they may include, by what the compiler should read."""
    for name in _closure(names, headers):
        if is_stop(folder / name):
            _replace_stop(name, headers, folder)


def is_stop(file: Path) -> bool:
    """Return whether a header of the folder has not been rewritten."""
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape").startswith(f"#error {STOP}\n")
    except OSError:
        return False


def names_in(headers: Path) -> set[str]:
    """Return the names of all installed headers."""
    return {file.relative_to(headers).as_posix() for file in headers.rglob("*") if file.is_file()}


def included_by(text: str, beside: str, headers: Path) -> Iterator[str]:
    """Yield the names of the installed headers that a text may include; conditions are not evaluated."""
    by_system = (f"<thrust/system/{_SYSTEMS[side]}/{name}>" for side, name in _OF_A_SYSTEM.findall(text))
    for name in (*(match["name"] for match in INCLUDE_LINE.finditer(text)), *by_system):
        places = (os.path.join(beside, name[1:-1]), name[1:-1]) if name.startswith('"') else (name[1:-1],)
        paths = map(os.path.normpath, places)
        if found := next((path for path in paths if (headers / path).is_file()), None):
            yield found


def _closure(names: Iterable[str], headers: Path) -> Iterator[str]:
    waiting, seen = list(names), set[str]()
    while waiting:
        if (name := waiting.pop()) in seen:
            continue
        seen.add(name)
        yield name
        waiting += included_by(_text(headers / name), os.path.dirname(name), headers)


def _replace_stop(name: str, headers: Path, folder: Path) -> None:
    """Replace one stop at once, because other compilers may read it; a header without device code needs no copy."""
    text = _text(headers / name)
    if not _CUDA.search(text):
        (folder / name).unlink(missing_ok=True)
        return
    unfinished = folder / f"{name}.{os.getpid()}.{threading.get_ident()}"
    unfinished.write_text(_rewritten(name, headers / name, text), encoding="utf-8", errors="surrogateescape")
    unfinished.replace(folder / name)


def _rewritten(name: str, file: Path, text: str) -> str:
    unit = Unit(is_library=True, has_cccl=True)
    unit.kernel_words |= _KERNEL_WORDS
    unit.device_words |= _DEVICE_WORDS
    unit.host_words |= _HOST_WORDS
    return _with_scopes(name, f'#line 1 "{file}"\n{rewrite(text, str(file), unit)}')


def _copy(stop: Path, place: Path) -> None:
    try:
        os.link(stop, place)
    except OSError:  # a file system without hard links, or with a limit of them
        shutil.copyfile(stop, place)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="surrogateescape")


def _with_scopes(name: str, code: str) -> str:
    """Make libcu++'s atomics and fences, which are the host's in the twin, tell the checks for whom they are."""
    if name == "cuda/std/__atomic/types/base.h":
        scoped = _HOST_ATOMIC.sub(rf"\1{_SCOPE}__is_same(_Sco, __thread_scope_block_tag)); ", code)
    elif name == "cuda/__atomic/atomic.h":
        for_block = "_Scope == thread_scope::thread_scope_block || _Scope == thread_scope::thread_scope_thread"
        scoped = code.replace(_HOST_FENCE, f"({_SCOPE}{for_block}); _CUDA_VSTD::atomic_thread_fence(__m);)")
    else:
        return code
    return f"#include <opbridge_twin/thread.h>\n{scoped}"
