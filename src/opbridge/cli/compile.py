"""opbridge compile: build a library for hosts without opbridge, from one source, or from a manifest for another host.

A library from one source exports functions with MindSpore's aot calling convention.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from opbridge.authoring.loading import MANIFEST_SUFFIXES
from opbridge.base.errors import InputError
from opbridge.build.cache import Cache
from opbridge.build.cache.filesystem import copy_atomically
from opbridge.build.cxx.ascend_kernels import read_kernels
from opbridge.build.sources.ascend.source_kind import ASCEND_C
from opbridge.build.sources.onnxruntime_export import operator_name, request_for
from opbridge.build.sources.standalone import for_mindspore, kernels_of_source
from opbridge.build.sources.store import language_of
from opbridge.build.toolchains import BuildRequest, build, toolchain_for
from opbridge.cli.output_paths import require_writable_folder
from opbridge.cli.terminal import bold, size
from opbridge.waist.manifest import DEVICES, Manifest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge compile`."""
    parser.add_argument(
        "source",
        type=Path,
        metavar="kernel.cpp",
        help="the kernel's source, or with --for onnxruntime the ops.yaml; a .cu is for a GPU unless --device says "
        "cuda-twin, other sources are for the CPU",
    )
    parser.add_argument("library", type=Path, metavar="out.so", help="the library to write")
    parser.add_argument(
        "--device", choices=DEVICES, help="the device of the kernel (default: by the file name of the source)"
    )
    parser.add_argument(
        "--for",
        dest="host",
        choices=("onnxruntime",),
        help="compile the operators of an ops.yaml as custom operators of this host",
    )


def run(options: argparse.Namespace) -> int:
    """Compile the source or manifest to the library, and print the functions it exports; return 0."""
    source, library = options.source, options.library
    require_writable_folder(library.parent)
    if options.host or source.suffix in MANIFEST_SUFFIXES:
        return _compile_for_onnxruntime(options)
    device = options.device or ("cuda" if source.suffix == ".cu" else "cpu")
    if library.suffix != ".so":
        raise InputError(f"expected the name of a library to write, such as {source.stem}_{device}.so")
    toolchain = toolchain_for(language := language_of(device))
    request = BuildRequest(
        (source,),
        library.name,
        defines=(("OPBRIDGE_STANDALONE", ""), *toolchain.macros()),
        portable=True,
        language=language,
    )
    cache = Cache()
    built = build(for_mindspore(request, kernels_of_source(source), cache), cache)
    kernels = _kernels(built.path, source, device)
    if not kernels:
        hint = 'add OB_KERNEL(name, float, double) to it, or mark the function extern "C"'
        if device in ASCEND_C:
            hint = "add a function on kernel.h, or with the plain C call, that starts the kernel"
        raise InputError(f"{source} compiles, but exports no kernel", hint=hint)
    copy_atomically(built.path, library)
    for companion in toolchain.companions():
        copy_atomically(companion, library.parent / companion.name)
    print(f"{library}  {size(library.stat().st_size)}")
    for name, signature in kernels.items():
        print(f"  {bold(name)}  {signature}")
    return 0


def _compile_for_onnxruntime(options: argparse.Namespace) -> int:
    source, library = options.source, options.library
    if source.suffix not in MANIFEST_SUFFIXES or not options.host:
        raise InputError(
            f"{source}: expected an ops.yaml and --for onnxruntime, or a source without it",
            hint="what an operator's outputs are like, its out rule says, which stands in an ops.yaml",
        )
    if library.suffix != ".so":
        raise InputError(f"expected the name of a library to write, such as {source.stem}_onnxruntime.so")
    if options.device not in (None, "cpu"):
        raise InputError(f"--for onnxruntime takes the kernels for the CPU, and not those for {options.device}")
    ops = [op for op in Manifest.load(source).ops if not op.is_derived]
    if not ops:
        raise InputError(f"{source} declares no operators", hint="a library needs at least one")
    cache = Cache()
    built = build(request_for(ops, library.name, source.absolute().parent, cache), cache)
    copy_atomically(built.path, library)
    print(f"{library}  {size(library.stat().st_size)}")
    for op in ops:
        print(f"  {bold(operator_name(op.schema))}  {op.schema}")
    return 0


def _kernels(library: Path, source: Path, device: str) -> dict[str, str]:
    """Return the functions in a library that hosts can call, each with its own description."""
    from opbridge._core import load_kernel
    from opbridge.build.sources.elf import read_library

    names = read_library(library).kernels
    if device in ASCEND_C:
        read = read_kernels(source)
        kernels = read.global_functions if read else set()
        names = tuple(name for name in names if not name.startswith("aclrtlaunch_") and name not in kernels)
    return {name: load_kernel(str(library), name).describe() for name in names}
