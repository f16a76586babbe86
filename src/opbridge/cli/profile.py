"""opbridge profile: predict what kernels cost, from what a twin observes while it runs them."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import opbridge
from opbridge.authoring.loading import MANIFEST_SUFFIXES
from opbridge.base.errors import BuildError, InputError
from opbridge.cli.json_output import add_json, print_json
from opbridge.cli.manifest_arguments import chosen, load_library, manifest_and_operator
from opbridge.cli.output_paths import require_writable
from opbridge.cli.profile_timeline import of_timeline
from opbridge.cli.terminal import bold

if TYPE_CHECKING:
    from opbridge.analysis.profile import KernelCost, LineCost, Profile
    from opbridge.analysis.profile.registers import Registers
    from opbridge.waist.op import OpLibrary

_OWN = Path(opbridge.__file__).parent
_LINES = 12
"""How many lines of a kernel to print."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge profile`."""
    parser.add_argument(
        "what",
        metavar="OPERATOR-OR-PROGRAM",
        help="ops.yaml or ops.yaml:NAME, a .cu with a main, or a program by `opbridge twin nvcc --counters`",
    )
    parser.add_argument("arguments", nargs="*", metavar="-- ARGUMENTS", help="the arguments of the program")
    parser.add_argument(
        "--chip", metavar="NAME", help="compute costs for the rates of this chip (default: a100, 910b for Ascend C)"
    )
    parser.add_argument("--trace", type=Path, metavar="FILE", help="write a trace for Perfetto")
    parser.add_argument(
        "--trace-memory",
        type=Path,
        metavar="FILE",
        help="draw which CUDA thread touches which memory, as HTML",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Profile an operator or a program, print or write the results, and return 0."""
    from opbridge.analysis.profile import chip_named
    from opbridge.analysis.profile.trace import trace

    if options.chip is not None:
        chip_named(options.chip)  # fail before building anything
    require_writable(options.trace, options.trace_memory)
    found = _profiled(options)
    if options.trace:
        options.trace.write_text(json.dumps(trace(found)))
    if options.trace_memory:
        _draw(found, options.trace_memory)
    if options.json:
        print_json(found.fields())
    else:
        print(_screen(found))
    return 0


def _draw(found: Profile, file: Path) -> None:
    from opbridge.analysis.report.thread_accesses import page

    if not found.kernels:
        raise InputError("--trace-memory draws what threads of CUDA touch, and no kernel of CUDA ran")
    file.write_text(page(found.kernels), encoding="utf-8")


def _profiled(options: argparse.Namespace) -> Profile:
    from opbridge.analysis.profile import profile_command
    from opbridge.analysis.profile.unprofiled_programs import require_program

    path, name = manifest_and_operator(options.what)
    if path.suffix in MANIFEST_SUFFIXES:
        if options.arguments:
            raise InputError(f"{path} is not a program, which could take {' '.join(options.arguments)}")
        return _of_manifest(path, name, options.chip)
    if path.suffix != ".cu":
        program = str(path.resolve() if path.is_file() else path)
        return profile_command([program, *options.arguments], options.chip)
    require_program(path)
    with tempfile.TemporaryDirectory(prefix="opbridge-profile-") as folder:
        program = str(Path(folder, path.stem))
        _compile(str(path), program)
        return profile_command([program, *options.arguments], options.chip, path)


def _compile(source: str, program: str) -> None:
    from opbridge.build.cache import Cache
    from opbridge.twins.cuda import nvcc as twin_nvcc

    if twin_nvcc.run(["--counters", "-O2", source, "-o", program], twin_nvcc.write(Cache().root / "cuda")):
        raise BuildError(f"{source} does not compile: see the messages of the compiler above")


def _of_manifest(manifest: Path, name: str, chip: str | None) -> Profile:
    from opbridge.analysis.profile import Profile
    from opbridge.analysis.profile.manifest_operator import profile_operator

    found = [profile_operator(op, chip) for op in chosen(_library(manifest, chip), [name] if name else None)]
    kernels = tuple(kernel for one in found for kernel in one.kernels)
    return Profile(found[0].chip, kernels, tuple(kernel for one in found for kernel in one.timelines))


def _library(manifest: Path, chip: str | None) -> OpLibrary:
    """Load the manifest for the chip's twin; without a chip, for the CUDA twin unless only NPU kernels exist."""
    from opbridge.analysis.profile import chip_named

    if chip is not None:
        return load_library(manifest, chip_named(chip).twin)
    library = load_library(manifest, "cuda-twin")
    devices = {kernel.device for op in library for kernel in op.spec.kernels}
    return load_library(manifest, "ascend-twin") if "npu" in devices and "cuda" not in devices else library


def _screen(found: Profile) -> str:
    lines = [f"{found.chip.title}: predicted by counts and published rates, never measured"]
    for kernel in found.kernels:
        lines += ["", *_of_kernel(kernel)]
    for timeline in found.timelines:
        lines += ["", *of_timeline(timeline, _time(timeline.seconds))]
    return "\n".join(lines)


def _of_kernel(kernel: KernelCost) -> list[str]:
    from opbridge.build.cache import Cache

    launches = "1 launch" if kernel.launches == 1 else f"{kernel.launches} launches"
    sizes = " of ".join("x".join(map(str, size)) for size in (_trimmed(kernel.grid), _trimmed(kernel.block)))
    head = f"{bold(kernel.name)}  {launches} of {sizes} threads, {_time(kernel.seconds)} each"
    counted = f"counted in {kernel.profiled_blocks} blocks" if kernel.scale > 1 else "every block counted"
    bound = f", bound by {kernel.bounds[0].name}" if kernel.bounds else ""
    said = [head + bound]
    if kernel.left_out:
        said.append(f"  {kernel.left_out} blocks did too much to be counted")
    said.append(
        f"  {_bytes(kernel.bytes_read)} read, {_bytes(kernel.bytes_written)} written, "
        f"{kernel.intensity:.2g} operations a byte; {counted}"
    )
    if kernel.occupancy:
        limit = "" if kernel.occupancy.limit == "nothing" else f", by {kernel.occupancy.limit}"
        said.append(
            f"  occupancy {kernel.occupancy.share:.0%}: {kernel.occupancy.blocks} blocks a multiprocessor{limit}; "
            + (_registers(kernel.registers) if kernel.registers else "registers not counted")
        )
    cached = Cache().root
    shown = [(_short(line.place, cached), line) for line in kernel.lines[:_LINES]]
    width = max((len(place) for place, _ in shown), default=0)
    for place, line in shown:
        said.append(f"  {place:<{width}}  {_of_line(line)}")
        if line.advice:
            said.append(f"  {'':<{width}}  hint: {line.advice}")
    if len(kernel.lines) > _LINES:
        said.append(f"  and {len(kernel.lines) - _LINES} lighter lines")
    return said


def _short(place: str, cached: Path) -> str:
    """Return an opbridge header as it is included, and a generated file by its name: the user edits neither."""
    path = Path(place).absolute()
    if path.is_relative_to(_OWN):
        return place.rpartition("/include/")[2]
    return path.name if path.is_relative_to(cached) else place


def _registers(registers: Registers) -> str:
    spilled = f", {registers.spilled} bytes spilled" if registers.spilled else ""
    local = f", {registers.local} bytes of local memory" if registers.local else ""
    return f"{registers.used} registers a thread{spilled}{local}"


def _of_line(line: LineCost) -> str:
    if line.kind == "branch":
        return f"lanes part {line.requests} times"
    if not line.space:
        return f"{line.kind} {line.requests} times by warps"
    parts = {"global": "sectors", "shared": "passes", "constant": "turns"}[line.space]
    more = f", {line.conflicts} of them for bank conflicts" if line.conflicts else ""
    if line.space == "shared" and line.joined < line.parts:
        more += f", {line.joined} where nvcc joins neighbouring reads"
    best = f", {line.least} at best" if line.space == "global" and line.parts > line.least else ""
    queued = f", {line.queued} lanes queued" if line.queued and line.kind == "atomic" else ""
    of = f" of {line.array}" if line.array else ""
    return f"{line.space} {line.kind}{of}: {line.requests} requests, {line.parts} {parts}{more}{best}{queued}"


def _trimmed(sizes: tuple[int, int, int]) -> tuple[int, ...]:
    x, y, z = sizes
    return sizes if z > 1 else (x, y) if y > 1 else (x,)


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"


def _bytes(number: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number} bytes"
