"""How generated C++ is compiled against PyTorch's headers: without optimising, and with every warning an error."""

from __future__ import annotations

from opbridge.build.toolchains.torch_install import TorchInstall

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter")


def compiler() -> list[str]:
    includes = [option for path in TorchInstall.found().include_dirs for option in ("-isystem", str(path))]
    return ["g++", "-std=c++20", "-fPIC", "-O0", *WARNINGS, *includes]


def libraries() -> list[str]:
    folder = TorchInstall.found().lib
    return [f"-L{folder}", "-ltorch", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{folder}"]
