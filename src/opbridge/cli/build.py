"""opbridge build: every kernel of a manifest that this machine can build."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from opbridge.cli.files import copy_atomically
from opbridge.cli.terminal import green
from opbridge.errors import InputError
from opbridge.loading import MANIFEST_SUFFIXES
from opbridge.manifest import DEVICES, Manifest
from opbridge.manifest.kernels import is_library
from opbridge.sources.store import LANGUAGES, language_of
from opbridge.toolchains import BuildRequest, BuiltLibrary, build_many


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
    def library(self) -> Path:
        """What the library is called below the folder that -o names."""
        path = Path(self.name)
        return path if self.is_built else path.with_name(f"{path.stem}_{self.device}.so")

    def request(self, root: Path, portable: bool) -> BuildRequest:
        """What loading the manifest asks for too, so that it then finds the library in the cache."""
        output = f"{self.path.stem}.so"
        return BuildRequest((self.path,), output, portable=portable, language=language_of(self.device), root=root)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("manifest", type=Path, metavar="ops.yaml", help="the manifest, whose folder holds the kernels")
    parser.add_argument(
        *("-o", "--output"),
        type=Path,
        metavar="DIR",
        help="put the libraries here, built for any machine of this architecture; otherwise they stay in the cache",
    )
    parser.add_argument("--device", choices=DEVICES, help="only this device's kernels")


def run(options: argparse.Namespace) -> int:
    started = time.perf_counter()
    _check_places(options.manifest, options.output)
    sources = _sources(Manifest.load(options.manifest), options.device)
    if options.device and not sources:
        raise InputError(f"{options.manifest} has no kernel files for {options.device}")
    if options.device:
        language_of(options.device)
    ready = [source for source in sources if source.device in LANGUAGES]
    to_build = [source for source in ready if not source.is_built]
    if options.output:
        _check_names(ready)
    built = build_many(
        [source.request(options.manifest.parent, portable=options.output is not None) for source in to_build]
    )
    libraries = dict(zip(to_build, built, strict=True))
    sys.stderr.writelines(library.log for library in built)  # the compilers' warnings
    for source in sources:
        print(f"{source.name}  {_outcome(source, libraries.get(source))}")
        if options.output and source in ready:
            library = libraries[source].path if source in libraries else source.path
            copy_atomically(library, options.output / source.library)
    where = f" in {options.output}" if options.output else ""
    print(green(f"{len(ready)} of {len(sources)} kernel files ready{where}, {time.perf_counter() - started:.2f} s"))
    return 0


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


def _check_names(sources: Iterable[_Source]) -> None:
    taken: dict[Path, _Source] = {}
    for source in sources:
        other = taken.setdefault(source.library, source)
        if other is not source:
            raise InputError(f"{other.name} and {source.name} would both become {source.library}", hint="rename one")


def _outcome(source: _Source, library: BuiltLibrary | None) -> str:
    if library is not None:
        return "cached" if library.cached else f"built {library.seconds:.2f} s"
    return "as it is" if source.is_built else f"left out: this version does not build for {source.device}"
