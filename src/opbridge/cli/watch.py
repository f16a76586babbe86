"""opbridge build --watch: build and check again whenever a source changes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import opbridge as ob
from opbridge.base.errors import OpbridgeError
from opbridge.cli.terminal import green, red
from opbridge.verify.check import Status, check
from opbridge.waist.op import Op, OpLibrary

_LOOKS_EVERY = 0.1
_QUICK = ("values", "dtypes", "shapes", "bounds", "strides", "aliasing")
"""The checks that take less than a second; `opbridge check` runs all of them."""
_SOURCES = frozenset((".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".yaml", ".yml"))

_Made = Mapping[str, object]
"""The sources of each operator."""


def watch(manifest: Path, build: Callable[[], Mapping[str, Path]]) -> int:
    """Build and check until Ctrl-C, then return 0; errors are printed and do not end the loop."""
    before: _Made = {}
    try:
        while True:
            seen = _settled(manifest)
            try:
                before = _round(manifest, build, before)
            except OpbridgeError as error:
                print(f"{red('error:', sys.stderr)} {error}", file=sys.stderr, flush=True)
            print(f"watching {len(seen)} files below {manifest.absolute().parent}; Ctrl-C ends", flush=True)
            while _stamps(manifest) == seen:
                time.sleep(_LOOKS_EVERY)
    except KeyboardInterrupt:
        print()
        return 0


def _settled(manifest: Path) -> dict[Path, tuple[int, int]]:
    """Return the state of the sources once no program is writing them any more."""
    seen = _stamps(manifest)
    while True:
        time.sleep(_LOOKS_EVERY / 2)
        before, seen = seen, _stamps(manifest)
        if seen == before:
            return seen


def _round(manifest: Path, build: Callable[[], Mapping[str, Path]], before: _Made) -> _Made:
    libraries = build()
    library: OpLibrary = ob.load(manifest)
    made = {
        op.name: (op.spec, [libraries.get(f"{kernel.device} {kernel.path}") for kernel in op.spec.kernels])
        for op in library
    }
    changed = [op for op in library if before.get(op.name) != made[op.name] and _runs_here(op)]
    if changed:
        _check(changed)
    return made


def _runs_here(op: Op) -> bool:
    return any(kernel.device == "cpu" for kernel in op.spec.kernels)


def _check(operators: list[Op]) -> None:
    started = time.perf_counter()
    wrong = [row for row in check(operators, frameworks=["numpy"], checks=_QUICK) if row.status is Status.FAILED]
    for row in wrong:
        print(red(f"{row.operator}  {row.check}: {row.message}"))
    right = len(operators) - len({row.operator for row in wrong})
    told = f"{right} of {len(operators)} changed operators pass the quick checks, {time.perf_counter() - started:.2f} s"
    print(red(told) if wrong else green(told))


def _stamps(manifest: Path) -> dict[Path, tuple[int, int]]:
    """Return the modification time and size of each source below the manifest's folder."""
    found = {}
    for path in manifest.parent.rglob("[!.]*"):
        if path.suffix in _SOURCES:
            # An editor may be replacing the file.
            with suppress(FileNotFoundError):
                status = path.stat()
                found[path] = (status.st_mtime_ns, status.st_size)
    return found
