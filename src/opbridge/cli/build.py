"""opbridge build: every kernel of a manifest that this machine can build."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge.cache import Cache
from opbridge.cache.filesystem import copy_atomically
from opbridge.cache.shared import SigningKey
from opbridge.cli.terminal import green
from opbridge.errors import InputError, OpbridgeError, ToolchainError
from opbridge.loading import MANIFEST_SUFFIXES
from opbridge.manifest import DEVICES, Manifest, OpSpec
from opbridge.manifest.kernels import TWINS, is_library
from opbridge.sources.ascend.use import ASCEND_C, AscendUses, Use
from opbridge.sources.standalone import for_mindspore, kernels_of_operators
from opbridge.sources.store import companions, language_of, source_request, with_files
from opbridge.sources.tvm_ffi_export import with_functions
from opbridge.toolchains import BuildRequest, BuiltLibrary, build_many, toolchain_for
from opbridge.toolchains.nvcc import has_gpu


@dataclass(frozen=True)
class _Source:
    name: str
    """The path as the manifest has it."""
    device: str
    path: Path

    @property
    def is_built(self) -> bool:
        return is_library(self.name)

    @property
    def root(self) -> Path:
        """The folder that its name starts from."""
        return self.path.parents[len(Path(self.name).parts) - 1]

    @property
    def library(self) -> Path:
        """What the library is called below the folder that -o names."""
        path = Path(self.name)
        return path if self.is_built else path.with_name(f"{path.stem}_{self.device}.so")

    def operators(self, manifest: Manifest) -> list[tuple[str, OpSpec]]:
        """Those whose kernels are in it, with the kernels' symbols."""
        return [
            (kernel.symbol or op.schema.name, op)
            for op in manifest.ops
            for kernel in op.kernels
            if (kernel.path, kernel.device) == (self.name, self.device)
        ]

    def by_symbol(self, manifest: Manifest) -> dict[str, OpSpec]:
        """The operators by their kernels; the first one, where several share a kernel."""
        return dict(reversed(self.operators(manifest)))

    def request(self, manifest: Manifest, portable: bool) -> BuildRequest:
        """What loading the manifest asks for too, so that it then finds the library in the cache."""
        if self.device not in ASCEND_C:
            return source_request(self.root, self.name, self.device, portable)
        uses = (
            Use(op.schema.full_name, str(op.schema), symbol, op.rules.launch_texts)
            for symbol, op in self.operators(manifest)
        )
        return source_request(self.root, self.name, self.device, portable, AscendUses.of(self.path, uses))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("manifest", type=Path, metavar="ops.yaml", help="the manifest, whose folder holds the kernels")
    parser.add_argument(
        *("-o", "--output"),
        type=Path,
        metavar="DIR",
        help="put the libraries here, built for any machine of this architecture; otherwise they stay in the cache",
    )
    parser.add_argument("--device", choices=DEVICES, help="only this device's kernels")
    parser.add_argument(
        *("-j", "--jobs"), type=_jobs, metavar="N", help="compilers at a time; by default one a processor"
    )
    parser.add_argument(
        "--publish",
        type=Path,
        metavar="DIR",
        help="add what was built, and the frameworks' adapters, to the cache that many machines share",
    )
    parser.add_argument(
        "--sign", type=Path, metavar="KEY", help="with --publish: sign it with this key, from `opbridge cache key KEY`"
    )
    parser.add_argument("--export", choices=("tvm-ffi",), help="with -o: the libraries are also for hosts of this kind")
    parser.add_argument(
        "--compile-commands",
        action="store_true",
        help="only write compile_commands.json beside the manifest, by which editors complete kernels",
    )
    parser.add_argument(
        "--watch", action="store_true", help="build and check again whenever a source changes, until Ctrl-C"
    )


def run(options: argparse.Namespace) -> int:
    if options.compile_commands:
        return _tell_editors(options.manifest)
    if options.watch:
        from opbridge.cli.watching import watch

        return watch(options.manifest, lambda: _build(options))
    _build(options)
    return 0


def _build(options: argparse.Namespace) -> dict[str, Path]:
    """Where the library of each kernel file is, by the path as the manifest has it and the device."""
    started = time.perf_counter()
    _check_places(options.manifest, options.output)
    if options.export and options.output is None:
        raise InputError(f"--export {options.export} needs -o DIR, where the libraries are to be put")
    if options.publish and options.output is not None:
        raise InputError("-o is for machines without opbridge and --publish for those with it; give one of them")
    if options.sign and options.publish is None:
        raise InputError("--sign is for what --publish DIR adds; give both")
    key = SigningKey.read(options.sign) if options.sign else None
    cache = Cache()
    manifest = Manifest.load(options.manifest)
    is_ahead = options.device is None and options.output is None
    ops = (_for_here(op) if is_ahead else op for op in manifest.ops)
    manifest = replace(manifest, ops=tuple(with_files(op, cache) for op in ops))
    sources = _sources(manifest, options.device)
    if options.device and not sources:
        raise InputError(f"{options.manifest} has no kernel files for {options.device}")
    reasons = {device: _why_not(device) for device in dict.fromkeys(source.device for source in sources)}
    if options.device and (reason := reasons[options.device]):
        raise reason
    ready = [source for source in sources if source.is_built or not reasons[source.device]]
    to_build = [source for source in ready if not source.is_built]
    if options.output:
        _check_names(ready)
    portable = options.output is not None
    requests = [source.request(manifest, portable) for source in to_build]
    if options.output:
        # What leaves for other machines may run there without opbridge.
        requests = [
            for_mindspore(request, kernels_of_operators(source.path, source.by_symbol(manifest)), cache)
            for source, request in zip(to_build, requests, strict=True)
        ]
    if options.export:
        requests = [
            with_functions(request, source.device, source.operators(manifest), cache)
            for source, request in zip(to_build, requests, strict=True)
        ]
    built = build_many(requests, cache, options.jobs)
    libraries = dict(zip(to_build, built, strict=True))
    sys.stderr.writelines(library.log for library in built)  # the compilers' warnings
    for source in sources:
        print(f"{source.name}  {_outcome(source, libraries.get(source), reasons[source.device])}")
        if options.verbose and source in to_build and source.device == "cpu":
            _tell_of_loops(source.request(manifest, portable))
        if options.output and source in ready:
            library = libraries[source].path if source in libraries else source.path
            copy_atomically(library, options.output / source.library)
            for companion in () if source.is_built else companions(source.device):
                copy_atomically(companion, options.output / source.library.parent / companion.name)
    if options.publish:
        from opbridge.cli.publishing import publish

        beside = [path for device in {source.device for source in to_build} for path in companions(device)]
        print(publish([*(library.path for library in built), *beside], options.publish, cache, key))
    where = f" in {options.output}" if options.output else ""
    print(green(f"{len(ready)} of {len(sources)} kernel files ready{where}, {time.perf_counter() - started:.2f} s"))
    return {f"{source.device} {source.name}": library.path for source, library in libraries.items()}


def _tell_editors(file: Path) -> int:
    """A device's kernels have the headers of its twin, which any compiler reads."""
    from opbridge.toolchains import editors

    _check_places(file, None)
    manifest = Manifest.load(file)
    twins = {twin.of: device for device, twin in TWINS.items()}
    requests = [
        source_request(source.root, source.name, twins.get(source.device, source.device))
        for source in _sources(manifest, None)
        if not source.is_built
    ]
    if not requests:
        raise InputError(f"{file} names no kernel files", hint="an editor needs nothing to complete ops.yaml")
    print(editors.write(requests, file.absolute().parent))
    return 0


def _tell_of_loops(request: BuildRequest) -> None:
    from opbridge.toolchains.vector_report import loops

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


def _check_places(manifest: Path, output: Path | None) -> None:
    if manifest.is_file() and manifest.suffix not in MANIFEST_SUFFIXES:
        hint = f"for one source alone: opbridge compile {manifest} {manifest.stem}.so"
        raise InputError(f"{manifest} is no manifest; expected a name such as ops.yaml", hint=hint)
    if output is not None and output.exists() and not output.is_dir():
        raise InputError(f"{output} is a file; -o takes the folder for the libraries")


def _sources(manifest: Manifest, device: str | None) -> list[_Source]:
    """The files of the manifest's kernels, each once."""
    sources: dict[_Source, None] = {}
    for op in manifest.ops:
        for kernel in op.kernels:
            if kernel.path is not None and device in (None, kernel.device):
                sources[_Source(kernel.path, kernel.device, op.file(kernel))] = None
    return list(sources)


def _for_here(op: OpSpec) -> OpSpec:
    """Without a formula's kernels for a GPU where there is none: nobody wrote them, and nvcc takes its time."""
    if has_gpu():
        return op
    return replace(
        op, kernels=tuple(kernel for kernel in op.kernels if kernel.source is None or kernel.device == "cpu")
    )


def _check_names(sources: Iterable[_Source]) -> None:
    taken: dict[Path, _Source] = {}
    for source in sources:
        other = taken.setdefault(source.library, source)
        if other is not source:
            raise InputError(f"{other.name} and {source.name} would both become {source.library}", hint="rename one")


def _why_not(device: str) -> OpbridgeError | None:
    """Why this machine cannot build for a device."""
    try:
        toolchain_for(language_of(device)).find()
    except OpbridgeError as error:
        return error
    return None


def _outcome(source: _Source, library: BuiltLibrary | None, reason: OpbridgeError | None) -> str:
    if library is not None:
        return "cached" if library.cached else f"built {library.seconds:.2f} s"
    return "as it is" if source.is_built else f"left out: {str(reason).splitlines()[0]}"
