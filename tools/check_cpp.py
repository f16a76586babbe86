"""Compile all C++ of opbridge, with every warning as an error; link and run nothing."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jaxlib
import numpy
import torch

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "opbridge"
TORCH = Path(torch.__file__).parent / "include"
JAX = Path(jaxlib.__file__).parent / "include"
CUDA = tuple(sorted((SOURCE / "include" / "opbridge").glob("cuda*.h")))
"""For sources that are compiled as CUDA."""
ASCEND = (
    SOURCE / "include" / "opbridge" / "launch.h",
    *sorted((SOURCE / "include" / "opbridge").glob("npu*.h")),
)
"""For sources that are compiled as Ascend C."""
COMMON = SOURCE / "twins" / "common" / "runtime"
"""What the libraries of the twins share."""
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-error=unknown-pragmas")
OURS = (f"-I{SOURCE / 'include'}", f"-I{SOURCE / 'native'}")
PYTHON = f"-isystem{sysconfig.get_path('include')}"


def commands() -> dict[str, list[str]]:
    compiler = [*shlex.split(os.environ.get("CXX", "g++")), "-fsyntax-only", *WARNINGS, *OURS, PYTHON]
    core = sorted((SOURCE / "native" / "core").glob("*.cpp"))
    headers = [path for path in sorted((SOURCE / "include" / "opbridge").glob("*.h")) if path not in CUDA + ASCEND]
    torch_headers = [f"-isystem{TORCH}", f"-isystem{TORCH / 'torch' / 'csrc' / 'api' / 'include'}"]
    adapter = sorted((SOURCE / "native" / "torch").glob("*.cpp"))
    found = {str(path): [*compiler, "-std=c++17", f"-isystem{numpy.get_include()}", str(path)] for path in core}
    found[str(SOURCE / "native" / "core" / "mindspore_entry.cpp")].append("-D_GLIBCXX_USE_CXX11_ABI=0")
    found |= {str(path): [*compiler, "-std=c++17", "-xc++", "-include", str(path), os.devnull] for path in headers}
    found[str(SOURCE / "native" / "torch")] = [*compiler, "-std=c++20", *torch_headers, *together(adapter)]
    standalone = sorted((SOURCE / "native" / "standalone").glob("*.h"))
    found |= {str(path): [*compiler, "-std=c++17", "-xc++", "-include", str(path), os.devnull] for path in standalone}
    handler = SOURCE / "native" / "jax" / "handler.cpp"
    found[str(handler)] = [*compiler, "-std=c++20", f"-isystem{JAX}", str(handler)]
    compat = sorted((SOURCE / "include" / "compat").glob("*.h"))
    found[str(SOURCE / "include" / "compat")] = [*compiler, "-std=c++20", *torch_headers, *together(compat)]
    found |= simulated(compiler, torch_headers)
    found |= twin(compiler)
    found |= ascend_twin(compiler)
    return found


def together(paths: Iterable[Path]) -> list[str]:
    """Join files that include PyTorch's headers, so that these are read once: they take longer than all the rest."""
    return [*(word for path in paths for word in ("-include", str(path))), "-xc++", os.devnull]


def twin(compiler: list[str]) -> dict[str, list[str]]:
    folder = SOURCE / "twins" / "cuda"
    flags = [*compiler, "-std=c++17", f"-I{folder / 'include'}", f"-I{folder / 'runtime'}", f"-I{COMMON}"]
    found = {str(path): [*flags, str(path)] for path in sorted((folder / "runtime").rglob("*.cpp"))}
    others: dict[str, list[str]] = {"libraries": [], "profiling": ["-DOPBRIDGE_TWIN_PROFILE=1"]}
    for name, more in others.items():
        sources = sorted((folder / name).rglob("*.cpp"))
        found |= {str(path): [*flags, f"-I{folder / name}", *more, str(path)] for path in sources}
    headers = sorted((folder / "include").rglob("*.h"))
    found |= {str(path): [*flags, "-xc++", "-include", str(path), os.devnull] for path in headers}
    prelude = ["-include", "cuda_runtime.h"]
    of_torch = folder / "torch"
    torch_flags = ["-std=c++20", f"-isystem{TORCH}", f"-isystem{TORCH / 'torch' / 'csrc' / 'api' / 'include'}"]
    torch_flags += ["-DOPBRIDGE_TWIN_CHECKS=1", f"-I{of_torch}", "-include", "opbridge_twin/torch.h", *prelude]
    of_cuda = (of_torch / "ATen" / "cuda").rglob("*.*h")
    torch_flags += together(sorted((of_torch / "c10").rglob("*.h")) + sorted(of_cuda))
    # The folder of native comes last, for its torch/ would be taken for PyTorch's.
    plain = [flag for flag in flags if flag not in OURS]
    found[str(of_torch)] = [*plain, *torch_flags, *(f"-idirafter{flag[2:]}" for flag in OURS)]
    return found | {str(path): [*flags, *prelude, "-xc++", "-include", str(path), os.devnull] for path in CUDA}


def simulated(compiler: list[str], torch_headers: list[str]) -> dict[str, list[str]]:
    # Not the folder of native, for its torch/ would be taken for PyTorch's.
    plain = [flag for flag in compiler if flag not in OURS]
    flags = [*plain, "-std=c++20", *torch_headers, f"-I{SOURCE / 'twins' / 'ascend' / 'include'}"]
    of_cuda = [*plain, "-std=c++20", *torch_headers, f"-I{SOURCE / 'twins' / 'cuda' / 'include'}"]
    folder, found = SOURCE / "twins" / "common" / "torch_device", {}
    for name, own in (("npu", flags), ("cuda", [*of_cuda, "-DOPBRIDGE_SIMULATES_CUDA=1"])):
        joined = (folder / "together.cpp").read_text(encoding="utf-8")
        others = [
            path
            for path in sorted((*folder.glob("*.cpp"), *(folder / name).glob("*.cpp")))
            if f'#include "{path.relative_to(folder)}"' not in joined
        ]
        found[f"{folder} ({name})"] = [*own, f"-I{folder}", *together(others)]
    headers = SOURCE / "twins" / "ascend" / "torch_device" / "stand_in" / "torch_npu" / "include"
    return found | {str(headers): [*flags, f"-I{headers}", *together(sorted(headers.rglob("*.h")))]}


def ascend_twin(compiler: list[str]) -> dict[str, list[str]]:
    folder = SOURCE / "twins" / "ascend"
    flags = [*compiler, "-std=c++17", f"-I{folder / 'include'}", f"-I{folder / 'runtime'}", f"-I{COMMON}"]
    found = {
        str(path): [*flags, str(path)] for path in sorted((*(folder / "runtime").glob("*.cpp"), *COMMON.glob("*.cpp")))
    }
    headers = (*ASCEND, *sorted((folder / "include").rglob("*.h")))
    # As kernels are compiled.
    flags = ["-std=gnu++20" if flag == "-std=c++17" else flag for flag in flags] + ["-Wno-volatile"]
    return found | {str(path): [*flags, "-xc++", "-include", str(path), os.devnull] for path in headers}


def main() -> int:
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        runs = threads.map(
            lambda item: (item[0], subprocess.run(item[1], capture_output=True, text=True)), commands().items()
        )
        failures = [(path, run.stderr) for path, run in runs if run.returncode]
    for path, said in failures:
        print(f"{path}\n{said}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
