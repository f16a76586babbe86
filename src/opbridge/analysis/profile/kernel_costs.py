"""Compute the costs of kernels from the counts of a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from opbridge.analysis.profile.advice import advice
from opbridge.analysis.profile.block_latency import cycles_alone
from opbridge.analysis.profile.bounds import bounds_of
from opbridge.analysis.profile.chips import Chip
from opbridge.analysis.profile.counter_files import Array, Count, Counted, Image
from opbridge.analysis.profile.counts import Kind, Space, total
from opbridge.analysis.profile.lines import lines_of
from opbridge.analysis.profile.memory_traffic import moved
from opbridge.analysis.profile.occupancy import occupancy
from opbridge.analysis.profile.operations import Stretch, stretches
from opbridge.analysis.profile.profile_contents import KernelCost, LineCost, Touch
from opbridge.analysis.profile.registers import Registers, base_name

_UNKNOWN = "an unknown place"


def analysed(
    runs: Iterable[Counted], chip: Chip, registers: Mapping[str, Registers] | None = None
) -> tuple[KernelCost, ...]:
    """Return the costs of all kernels, those that take longest first.

    `registers` are those of kernels that were compiled for the chip, by base name.
    """
    kernels = [_kernel(run, chip, (registers or {}).get(base_name(run.name))) for run in runs]
    return tuple(sorted(kernels, key=lambda kernel: -kernel.seconds * kernel.launches))


def _kernel(run: Counted, chip: Chip, registers: Registers | None) -> KernelCost:
    places = lines_of(_addresses(run), run.images)
    scale = run.blocks / run.profiled_blocks if run.profiled_blocks else 0.0
    core = chip.multiprocessor
    shared = run.static_shared + run.dynamic_shared
    held = occupancy(core, run.threads, shared, registers.used if registers else None) if core else None
    at_once = min(run.blocks, chip.cores * max(held.blocks if held else 1, 1))
    bytes_moved = moved(run, scale, at_once, chip.cache_bytes)
    kernel = KernelCost(
        run.name,
        run.grid,
        run.block,
        run.launches,
        run.blocks,
        run.profiled_blocks,
        run.left_out,
        scale,
        shared,
        bytes_moved.read,
        bytes_moved.written,
        _operations(run, scale),
        tuple(sorted(_lines(run, places), key=_weight, reverse=True)),
        occupancy=held,
        registers=registers,
        touches=tuple(_touches(run, places)),
        integers=_integers(run, scale),
        alone=cycles_alone(run, chip, bytes_moved.from_memory, partial(_counted_stretch, run)),
    )
    return replace(kernel, bounds=bounds_of(kernel, chip))


def _weight(line: LineCost) -> tuple[int, int, int, str]:
    return line.cycles, line.conflicts, line.requests, line.place


def _addresses(run: Counted) -> set[int]:
    found = {_place_of(run, count) for count in run.counts if count.kind != "block"}
    return found | {array.made_at for array in run.arrays if array.made_at}


def _place_of(run: Counted, count: Count) -> int:
    """Return the address of a count; lanes diverge at the branch that ends a stretch of code."""
    if count.kind == "branch" and (image := run.image_of(count.address)):
        branch = _stretch(image, count.address).branch
        return count.address if branch is None else image.base + branch + 1
    return count.address


def _stretch(image: Image, address: int) -> Stretch:
    known = stretches(image.path) if Path(image.path).is_file() else {}
    return known.get(address - image.base, Stretch())


def _counted_stretch(run: Counted, count: Count) -> Stretch:
    image = run.image_of(count.address)
    return _stretch(image, count.address) if image else Stretch()


def _lines(run: Counted, places: Mapping[int, str]) -> list[LineCost]:
    """Return the costs by line, which may have several places in the compiled code."""
    same: dict[tuple[str, Kind, Space], list[Count]] = defaultdict(list)
    for count in run.counts:
        if count.kind != "block":
            same[places.get(_place_of(run, count), _UNKNOWN), count.kind, count.space].append(count)
    return [_line(run, place, counts, places) for (place, _, _), counts in same.items()]


def _line(run: Counted, place: str, counts: list[Count], places: Mapping[int, str]) -> LineCost:
    array = max(counts, key=lambda count: count.worst).array
    name = _name(run.arrays[array - 1], places) if array else ""
    line = LineCost(**vars(total(counts)), place=place, array=name)
    return replace(line, advice=advice(line))


def _touches(run: Counted, places: Mapping[int, str]) -> Iterator[Touch]:
    for request in run.requests:
        array = _name(run.arrays[request.array - 1], places) if request.array else ""
        place = places.get(request.address, _UNKNOWN)
        yield Touch(place, request.address, request.kind, array, request.warp, request.bytes, request.lanes)


def _name(array: Array, places: Mapping[int, str]) -> str:
    place = places.get(array.made_at)
    return f"{array.name} at {place}" if place else array.name


def _operations(run: Counted, scale: float) -> dict[str, float]:
    """Return the operations of all threads, by kind."""
    done: Counter[str] = Counter()
    for count in run.counts:
        if count.kind == "block":
            for kind, number in _counted_stretch(run, count).operations.items():
                done[kind] += count.lanes * number
    return {kind: scale * number for kind, number in sorted(done.items())}


def _integers(run: Counted, scale: float) -> float:
    """Return the integer instructions of all warps, which take as long with few lanes as with all."""
    came = (count for count in run.counts if count.kind == "block")
    return scale * sum(count.requests * _counted_stretch(run, count).integers for count in came)
