"""opbridge build: build every kernel of a manifest that this machine can build."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from opbridge.authoring.loading import MANIFEST_SUFFIXES
from opbridge.base.errors import InputError, OpbridgeError, ToolchainError
from opbridge.build.cache import Cache
from opbridge.build.cache.filesystem import copy_atomically
from opbridge.build.cache.shared import SigningKey
from opbridge.build.sources.standalone import for_mindspore, kernels_of_operators
from opbridge.build.sources.store import language_of, source_request, with_files, with_twinned
from opbridge.build.sources.tvm_ffi_export import with_functions
from opbridge.build.toolchains import BuildRequest, BuiltLibrary, build_many, toolchain_for
from opbridge.build.toolchains.nvcc import has_gpu
from opbridge.cli.kernel_files import KernelFile, kernel_files, require_distinct_names
from opbridge.cli.kernel_signatures import require_fitting
from opbridge.cli.output_paths import require_writable_folder
from opbridge.cli.terminal import green
from opbridge.waist.manifest import DEVICES, Manifest, OpSpec
from opbridge.waist.manifest.kernel_origins import TWINS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge build`."""
    parser.add_argument("manifest", type=Path, metavar="ops.yaml", help="the manifest; its folder holds the kernels")
    parser.add_argument(
        *("-o", "--output"),
        type=Path,
        metavar="DIR",
        help="write libraries for any machine of this architecture here (default: keep them in the cache)",
    )
    parser.add_argument("--device", choices=DEVICES, help="build the kernels of this device only")
    parser.add_argument(
        *("-j", "--jobs"), type=_jobs, metavar="N", help="compilers to run at a time (default: one per processor)"
    )
    parser.add_argument(
        "--publish",
        type=Path,
        metavar="DIR",
        help="add the builds and the adapters of the frameworks to a cache that many machines share",
    )
    parser.add_argument(
        "--sign",
        type=Path,
        metavar="KEY",
        help="with --publish: sign the builds with this key, from `opbridge cache key KEY`",
    )
    parser.add_argument(
        "--export", choices=("tvm-ffi",), help="with -o: make libraries that hosts of this kind load, too"
    )
    parser.add_argument(
        "--compile-commands",
        action="store_true",
        help="only write compile_commands.json next to the manifest, for editors",
    )
    parser.add_argument(
        "--watch", action="store_true", help="build and check again whenever a source changes, until Ctrl-C"
    )


def run(options: argparse.Namespace) -> int:
    """Build the kernels, keep watching the sources, or only write compile_commands.json; return the exit code."""
    if options.compile_commands:
        return _tell_editors(options.manifest)
    if options.watch:
        from opbridge.cli.watch import watch

        return watch(options.manifest, lambda: _build(options))
    _build(options)
    return 0


def _build(options: argparse.Namespace) -> dict[str, Path]:
    """Build the kernels and return the path of each library by "DEVICE PATH", with the path as in the manifest."""
    started = time.perf_counter()
    _check_options(options)
    key = SigningKey.read(options.sign) if options.sign else None
    cache = Cache()
    manifest = _manifest(options, cache)
    files = kernel_files(manifest, options.device)
    if options.device and not files:
        raise InputError(f"{options.manifest} has no kernel files for {options.device}")
    reasons = {device: _why_not(device) for device in dict.fromkeys(file.device for file in files)}
    ready = [file for file in files if file.is_built or not reasons[file.device]]
    _require_compilers(files, ready, reasons, options.device)
    if options.output:
        require_distinct_names(ready)
    to_build = [file for file in ready if not file.is_built]
    built = build_many(_requests(options, to_build, manifest, cache), cache, options.jobs)
    libraries = dict(zip(to_build, built, strict=True))
    sys.stderr.writelines(library.log for library in built)  # compiler warnings
    for file in files:
        print(f"{file.name}  {_outcome(file, libraries.get(file), reasons[file.device])}")
        if options.verbose and file in libraries and file.device == "cpu":
            _tell_of_loops(file.request(manifest, options.output is not None))
    require_fitting(libraries, manifest)
    if options.output:
        _copy(ready, libraries, options.output)
    if options.publish:
        from opbridge.cli.publish import publish

        beside = {path for file in to_build for path in _companions(file)}
        print(publish([*(library.path for library in built), *sorted(beside)], options.publish, cache, key))
    where = f" in {options.output}" if options.output else ""
    print(green(f"{len(ready)} of {len(files)} kernel files ready{where}, {time.perf_counter() - started:.2f} s"))
    return {f"{file.device} {file.name}": library.path for file, library in libraries.items()}


def _require_compilers(
    files: Sequence[KernelFile],
    ready: Sequence[KernelFile],
    reasons: Mapping[str, OpbridgeError | None],
    chosen: str | None,
) -> None:
    """Raise the reason why kernels cannot be built, unless they are for an accelerator and others can be built.

    A manifest for several devices is usually built on a machine that has the compilers for some of them only.
    """
    if chosen and (reason := reasons[chosen]):
        raise reason
    left_out = {file.device for file in files if file not in ready}
    for device in sorted(left_out, key=lambda device: device != "cpu"):
        if (device == "cpu" or not ready) and (reason := reasons[device]):
            raise reason


def _check_options(options: argparse.Namespace) -> None:
    _check_places(options.manifest, options.output, options.publish)
    if options.export and options.output is None:
        raise InputError(f"--export {options.export} needs -o DIR, where the libraries are to be put")
    if options.publish and options.output is not None:
        raise InputError("-o is for machines without opbridge and --publish for those with it; give one of them")
    if options.sign and options.publish is None:
        raise InputError("--sign is for what --publish DIR adds; give both")


def _manifest(options: argparse.Namespace, cache: Cache) -> Manifest:
    """Return the manifest with the kernels generated from its formulas as files."""
    manifest = Manifest.load(options.manifest)
    is_ahead = options.device is None and options.output is None
    ops = (_for_here(op) if is_ahead else op for op in manifest.ops)
    if options.device in TWINS:
        ops = (with_twinned(op, options.device) for op in ops)
    return replace(manifest, ops=tuple(with_files(op, cache) for op in ops))


def _requests(
    options: argparse.Namespace, files: Sequence[KernelFile], manifest: Manifest, cache: Cache
) -> list[BuildRequest]:
    requests = [file.request(manifest, portable=options.output is not None) for file in files]
    if options.output:
        # Libraries for other machines may run there without opbridge.
        requests = [
            for_mindspore(request, kernels_of_operators(file.path, file.by_symbol(manifest)), cache)
            for file, request in zip(files, requests, strict=True)
        ]
    if options.export:
        requests = [
            with_functions(request, file.device, file.operators(manifest), cache)
            for file, request in zip(files, requests, strict=True)
        ]
    return requests


def _copy(files: Sequence[KernelFile], libraries: Mapping[KernelFile, BuiltLibrary], folder: Path) -> None:
    for file in files:
        copy_atomically(libraries[file].path if file in libraries else file.path, folder / file.library)
        for companion in _companions(file):
            copy_atomically(companion, folder / file.library.parent / companion.name)


def _companions(file: KernelFile) -> tuple[Path, ...]:
    """Return the libraries that a file's library needs next to it, if opbridge builds it."""
    return () if file.is_built else toolchain_for(language_of(file.device)).companions()


def _tell_editors(file: Path) -> int:
    """Write compile_commands.json; kernels for a device get the headers of its twin, which any compiler can read."""
    from opbridge.build.toolchains import compile_commands

    _check_places(file, None)
    manifest = Manifest.load(file)
    twins = {twin.of: device for device, twin in TWINS.items()}
    requests = [
        source_request(source.root, source.name, twins.get(source.device, source.device))
        for source in kernel_files(manifest, None)
        if not source.is_built
    ]
    if not requests:
        raise InputError(f"{file} names no kernel files", hint="an editor needs nothing to complete ops.yaml")
    print(compile_commands.write(requests, file.absolute().parent))
    return 0


def _tell_of_loops(request: BuildRequest) -> None:
    from opbridge.build.toolchains.vector_report import loops

    try:
        found = loops(request)
    except ToolchainError as error:
        print(f"  {str(error).splitlines()[0]}")
        return
    for loop in found:
        print("  " + str(loop).replace("\n", "\n  "))


def _jobs(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number of compilers from 1 on, got {text!r}")
    return int(text)


def _check_places(manifest: Path, *places: Path | None) -> None:
    if manifest.is_file() and manifest.suffix not in MANIFEST_SUFFIXES:
        hint = f"for a single source: opbridge compile {manifest} {manifest.stem}.so"
        raise InputError(f"{manifest} is not a manifest; expected a name such as ops.yaml", hint=hint)
    require_writable_folder(*places)


def _for_here(op: OpSpec) -> OpSpec:
    """Return the operator without generated GPU kernels if this machine has no GPU.

    The user did not write those kernels, and compiling them with nvcc is slow.
    """
    if has_gpu():
        return op
    return replace(
        op, kernels=tuple(kernel for kernel in op.kernels if kernel.source is None or kernel.device == "cpu")
    )


def _why_not(device: str) -> OpbridgeError | None:
    """Return the reason why this machine cannot build for a device; None if it can."""
    try:
        toolchain_for(language_of(device)).find()
    except OpbridgeError as error:
        return error
    return None


def _outcome(source: KernelFile, library: BuiltLibrary | None, reason: OpbridgeError | None) -> str:
    if library is not None:
        return "cached" if library.cached else f"built {library.seconds:.2f} s"
    return "as it is" if source.is_built else f"left out: {str(reason).splitlines()[0]}"
