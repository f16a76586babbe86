"""Map addresses in compiled kernels to lines of their sources, with the compiler's addr2line."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from opbridge.analysis.profile.counter_files import Image
from opbridge.base.errors import ToolchainError

_OF_THE_TWIN = "/twins/cuda/include/"
"""The folder of the twin's headers, which user code calls."""


def lines_of(addresses: Iterable[int], images: Iterable[Image]) -> Mapping[int, str]:
    """Return the place ("sum.cu:12") of the call before each return address; unknown ones are left out."""
    wanted = set(addresses)
    found: dict[int, str] = {}
    for image in images:
        inside = sorted(address for address in wanted if image.begin <= address - 1 < image.end)
        if inside and Path(image.path).is_file():
            places = _looked_up(image.path, [address - 1 - image.base for address in inside])
            found.update((address, place) for address, place in zip(inside, places, strict=True) if place)
    return found


def _looked_up(path: str, offsets: list[int]) -> list[str]:
    command = ["addr2line", "-a", "-i", "-e", path]
    try:
        done = subprocess.run(
            command, input="".join(f"{offset:#x}\n" for offset in offsets), capture_output=True, text=True
        )
    except FileNotFoundError:
        raise ToolchainError("no addr2line, which names the lines of a profile: it comes with binutils") from None
    places: list[str] = []
    for line in done.stdout.splitlines():
        if line.startswith("0x"):
            places.append("")
        # From the innermost inlined function outwards.
        elif line.startswith("??") or ":?" in line or not places:
            continue
        elif not places[-1] or _OF_THE_TWIN in places[-1]:
            places[-1] = line.partition(" (")[0]
    return [_shortened(place) for place in places]


def _shortened(place: str) -> str:
    return place.removeprefix(f"{os.getcwd()}/").removeprefix("./")
