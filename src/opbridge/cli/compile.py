"""opbridge compile: one source to one library that any host of the aot call can load, without opbridge."""

from __future__ import annotations

import argparse
from pathlib import Path

from opbridge.cli.files import copy_atomically
from opbridge.cli.terminal import bold, size
from opbridge.errors import InputError
from opbridge.manifest import DEVICES
from opbridge.sources.store import language_of
from opbridge.toolchains import BuildRequest, build


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=Path, metavar="kernel.cpp", help="the kernel's source")
    parser.add_argument("library", type=Path, metavar="out.so", help="the library to write")
    parser.add_argument("--device", choices=DEVICES, default="cpu", help="what the kernel runs on (default: cpu)")


def run(options: argparse.Namespace) -> int:
    source, library = options.source, options.library
    if library.suffix != ".so":
        raise InputError(f"expected the name of a library to write, such as {source.stem}_{options.device}.so")
    request = BuildRequest(
        (source,),
        library.name,
        defines=(("OPBRIDGE_STANDALONE", ""),),
        portable=True,
        language=language_of(options.device),
    )
    built = build(request)
    kernels = _kernels(built.path)
    if not kernels:
        hint = 'add OB_KERNEL(name, float, double) to it, or mark the function extern "C"'
        raise InputError(f"{source} compiles, but exports no kernel", hint=hint)
    copy_atomically(built.path, library)
    print(f"{library}  {size(library.stat().st_size)}")
    for name, signature in kernels.items():
        print(f"  {bold(name)}  {signature}")
    return 0


def _kernels(library: Path) -> dict[str, str]:
    """The kernels a library exports, each with what it says of itself."""
    from opbridge._core import load_kernel
    from opbridge.sources.elf import read_library

    return {name: load_kernel(str(library), name).describe() for name in read_library(library).kernels}
