"""NVIDIA's CUDA compiler: nvcc from PATH, CUDA_HOME, /usr/local/cuda or the wheel nvidia-cuda-nvcc, in this order.

A library contains code for the architectures in OPBRIDGE_CUDA_ARCHS, else for the GPUs of this machine.
Without either, and for portable libraries, it contains code for every major architecture that this nvcc knows.
Code for the newest architecture is also included as PTX, which later GPUs translate. The library has its own
copy of the CUDA runtime, which shares the context of the process that loads it. The caller provides the
streams.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from opbridge.base import floating_point
from opbridge.base.errors import ToolchainError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import host
from opbridge.build.toolchains.interface import BuildRequest, Command, Commands
from opbridge.build.toolchains.machine_identity import compiler, environment

name = "CUDA"
macros, companions = host.macros, host.companions
sources_for_torch, as_edited = host.sources_for_torch, host.as_edited
suffixes = (".cu", *host.suffixes)
"""C++ sources of the same library also go through nvcc, which passes them to the host compiler."""

ARCHITECTURES = "OPBRIDGE_CUDA_ARCHS"
"""The environment variable with the target architectures: "80;90", also as PyTorch's "8.0" and NVIDIA's "sm_80"."""

_OF_PYTORCH = "TORCH_CUDA_ARCH_LIST"
"""PyTorch's variable for the same purpose, used for sources that include PyTorch headers."""

_FAMILIES = {
    "Turing": ("75",),
    "Ampere": ("80", "86"),
    "Ampere+Tegra": ("87",),
    "Ada": ("89",),
    "Hopper": ("90",),
    "Blackwell": ("100", "103", "120", "121"),
    "Blackwell+Tegra": ("110",),
}
"""The names that PyTorch's variable accepts instead of numbers, if current versions of nvcc compile for them."""

_HOMES = ("CUDA_HOME", "CUDA_PATH")
_DEFAULT_HOME = "/usr/local/cuda"
_ENVIRONMENT = ("NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS")
_CHOOSING = ("-arch", "--gpu-architecture", "-gencode", "--generate-code", "-code", "--gpu-code")
# PyTorch extensions are compiled with these flags; the twin always accepts what they enable.
_LANGUAGE = ("--extended-lambda", "--expt-relaxed-constexpr")
_PLAIN = re.compile(r"[\w@%+=:./-]+")
_ACTIVE = re.compile(r'[\\"$`,]')
_SMI_SECONDS = 10


def find() -> tuple[str, ...]:
    """Return the command of nvcc with the host compiler that it should use.

    Raises:
        ToolchainError: No nvcc or no host compiler was found.
    """
    homes = [os.environ[variable] for variable in _HOMES if os.environ.get(variable)]
    for candidate in ("nvcc", *(f"{home}/bin/nvcc" for home in (*homes, _DEFAULT_HOME, *_wheels()))):
        if executable := shutil.which(candidate):
            return (executable, "-ccbin", *host.find()[:1])
    raise ToolchainError(
        "no CUDA compiler: expected nvcc on PATH, or CUDA_HOME to name the folder of a CUDA toolkit\n"
        "  install one: pip install nvidia-cuda-nvcc    or: https://developer.nvidia.com/cuda-downloads"
    )


def _wheels() -> list[str]:
    """Return the toolkit folders installed by NVIDIA's wheels, newest first: site-packages/nvidia/cu13."""
    from importlib.util import find_spec

    package = find_spec("nvidia")
    folders = package.submodule_search_locations if package else None
    return sorted((str(toolkit) for folder in folders or () for toolkit in Path(folder).glob("cu*")), reverse=True)


def identity(request: BuildRequest, cache: Cache) -> tuple[str, ...]:
    """Return the versions of nvcc and of the host compiler, and the variables that affect either."""
    nvcc, _, host_compiler = find()
    flags = tuple(f"{variable}={os.environ[variable]}" for variable in _ENVIRONMENT if variable in os.environ)
    named = host.files_of_flags(request, *(word for flag in flags for word in flag.split()))
    return (
        compiler((nvcc,), cache, ask="--version"),
        compiler((host_compiler,), cache),
        *flags,
        *named,
        *environment(),
    )


def commands(request: BuildRequest, folder: Path) -> Commands:
    """Return the nvcc commands that compile each source for the chosen architectures and link the library."""
    scratch = folder / "scratch"
    shared = (
        *("-O3", f"-std={request.standard}", "--threads=0", *_LANGUAGE, *_architectures(request)),
        *(f"-I{path}" for path in request.include_dirs),
        *(f"-D{macro}={value}" if value else f"-D{macro}" for macro, value in request.defines),
        *_for_host(
            "-fPIC",
            "-fvisibility-inlines-hidden",
            *floating_point.FLAGS,
            "-fdiagnostics-color=never",
            *(f"-fmacro-prefix-map={path}/=" for path in (request.project, *request.include_dirs)),
        ),
    )
    own_link_flags = ("-Wl,-z,defs", "-Wl,--trace", *host.own_symbols(scratch))
    link = (
        *(*find(), "-shared", *_spelled(own_link_flags)),
        *("-o", str(folder / request.output), *host.objects_of(request, scratch), *_spelled(request.link_flags)),
    )
    driver = (*find(), *shared)
    return host.commands_of(request, scratch, lambda source: (*driver, *_spelled(request.flags_for(source))), link)


def precompile(request: BuildRequest, header: Path, target: Path) -> Command | None:
    """Return None: nvcc precompiles no headers."""
    return None


def _architectures(request: BuildRequest) -> tuple[str, ...]:
    flags = [flag for source in request.sources for flag in request.flags_for(source)]
    if any(flag.partition("=")[0] in _CHOOSING for flag in flags):
        return ()
    for variable in (ARCHITECTURES, *((_OF_PYTORCH,) if request.library else ())):
        if named := re.findall(r"[^;,\s]+", os.environ.get(variable, "")):
            return _code_for(_as_nvcc_names(named, variable))
    if not request.portable and (served := _served(_gpus())):
        return _code_for(served)
    return ("-arch=all-major",)


def _code_for(architectures: Iterable[str]) -> tuple[str, ...]:
    """Return flags for machine code for each architecture, plus PTX for the newest.

    Architecture-specific variants such as 90a get no PTX, because no other architecture can use it.
    """
    chosen = sorted(dict.fromkeys(architectures), key=_age)
    newest = max((name for name in chosen if name.isdigit()), key=_age, default="")
    kinds = {name: f"sm_{name},compute_{name}" if name == newest else f"sm_{name}" for name in chosen}
    return tuple(f"-gencode=arch=compute_{name},code=[{kind}]" for name, kind in kinds.items())


def _age(architecture: str) -> tuple[int, str]:
    return int(architecture.rstrip("af")), architecture


def _as_nvcc_names(words: Iterable[str], variable: str) -> list[str]:
    known = _known()
    names = []
    for word in (member for named in words for member in _FAMILIES.get(named.removesuffix("+PTX"), (named,))):
        name = word.removesuffix("+PTX").removeprefix("sm_").removeprefix("compute_").replace(".", "")
        form = re.fullmatch(r"(\d+)[af]?", name)
        if form is None or form[1] not in known:
            raise ToolchainError(
                f"{variable} names {word!r}, which {find()[0]} does not know\n"
                f"  it knows {', '.join(known)}: write some of them, as in {variable}={';'.join(known[-2:])}"
            )
        names.append(name)
    return names


def _served(gpus: Iterable[str]) -> list[str]:
    """Return the architectures to compile for so that these GPUs can run the code.

    A GPU newer than this nvcc translates the PTX of the newest architecture that nvcc knows.
    """
    known = _known() if gpus else ()
    return [gpu if gpu in known else known[-1] for gpu in gpus if gpu in known or _age(gpu) > _age(known[-1])]


def _known() -> tuple[str, ...]:
    """Return the architectures that this nvcc compiles for, oldest first."""
    answer = compiler(find()[:1], Cache(), ask="--list-gpu-arch")
    return tuple(sorted(re.findall(r"^compute_(\d+)$", answer, re.MULTILINE), key=_age))


def has_gpu() -> bool:
    """Return whether nvidia-smi reports a GPU on this machine."""
    return bool(_gpus())


@functools.cache
def _gpus() -> tuple[str, ...]:
    """Return the architectures of this machine's GPUs; none if nvidia-smi is missing or does not answer."""
    import subprocess

    ask = ("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader")
    try:
        said = subprocess.run(ask, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SMI_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.findall(r"^(\d+)\.(\d)\s*$", said.stdout, re.MULTILINE)
    return tuple(sorted({major + minor for major, minor in found}, key=_age))


def _spelled(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the host compiler's flags in the form in which nvcc passes them on."""
    spelled: list[str] = []
    for flag in flags:
        if flag.startswith("-Wl,"):
            spelled += [word for part in flag.split(",")[1:] for word in ("-Xlinker", _quoted(part))]
        elif flag.startswith("-f"):
            spelled += _for_host(flag)
        else:
            spelled.append(flag)
    return tuple(spelled)


def _for_host(*flags: str) -> tuple[str, ...]:
    return tuple(word for flag in flags for word in ("-Xcompiler", _quoted(flag)))


def _quoted(flag: str) -> str:
    """Return the flag quoted so that nvcc passes it on unchanged: it splits at commas and runs its tools in a shell."""
    return flag if _PLAIN.fullmatch(flag) else '"' + _ACTIVE.sub(r"\\\g<0>", flag) + '"'
