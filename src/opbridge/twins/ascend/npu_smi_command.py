"""The `bin/npu-smi` command in the folder that replaces CANN: it lists the simulated devices.

Scripts ask it for the name of the chip and the number of devices; the columns follow public documentation.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

DEVICES = 8
"""The number of simulated devices, as acl reports it."""

_DEFAULT_CHIP = "Ascend910B3"
_WIDTH = 96


def main(arguments: Sequence[str]) -> int:
    """Answer `npu-smi info` and its options -l, -m, `-t board` and `-t memory`; return the exit status."""
    if not arguments or arguments[0] != "info":
        return _refuse(f"expected `info`, got '{' '.join(arguments)}'")
    words = arguments[1:]
    options = dict(zip(words, [*words[1:], ""], strict=False))
    topic = options.get("-t", next((option for option in ("-l", "-m") if option in options), ""))
    answers = {"": _overview, "-l": _list, "-m": _mapping, "board": _board, "memory": _memory, "usages": _memory}
    if topic not in answers:
        return _refuse(f"`info -t {topic}` is not simulated")
    number = options.get("-i", "0")
    if not number.isdigit() or int(number) >= DEVICES:
        return _refuse(f"-i takes a device from 0 to {DEVICES - 1}, got '{number}'")
    print("\n".join(answers[topic](int(number))))
    return 0


def _refuse(why: str) -> int:
    print(f"npu-smi of opbridge's Ascend twin: {why}", file=sys.stderr)
    return 1


def _chip() -> str:
    return (os.environ.get("OPBRIDGE_ASCEND_SOC") or _DEFAULT_CHIP).removeprefix("Ascend")


def _megabytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20


def _overview(_: int) -> Iterator[str]:
    line, double = (f"+{mark * 27}+{mark * 15}+{mark * (_WIDTH - 45)}+" for mark in "-=")
    yield f"+{'-' * (_WIDTH - 1)}+"
    yield f"|{' npu-smi of opbridge, for simulated devices':<{_WIDTH - 1}}|"
    yield line
    yield from _row("NPU   Name", "Health", "Power(W)    Temp(C)")
    yield from _row("Chip", "Bus-Id", "AICore(%)   Memory-Usage(MB)   HBM-Usage(MB)")
    yield double
    for number in range(DEVICES):
        yield from _row(f"{number:<5} {_chip()}", "OK", "0.0         0")
        yield from _row("0", f"0000:0{number}:00.0", f"0           0    / 0           0    / {_megabytes()}")
        yield line


def _row(*cells: str) -> Iterator[str]:
    widths = (26, 14, _WIDTH - 46)
    yield f"|{'|'.join(f' {cell:<{width}}' for cell, width in zip(cells, widths, strict=True))}|"


def _list(_: int) -> Iterator[str]:
    yield f"\tTotal Count                    : {DEVICES}"
    for number in range(DEVICES):
        yield from (f"\n\tNPU ID                         : {number}", "\tChip Count                     : 1")


def _mapping(_: int) -> Iterator[str]:
    yield "\tNPU ID                         Chip ID                        Chip Logic ID                  Chip Name"
    for number in range(DEVICES):
        yield f"\t{number:<30} {0:<30} {number:<30} Ascend {_chip()}"


def _board(number: int) -> Iterator[str]:
    yield from _fields({"NPU ID": number, "Chip ID": 0, "Chip Name": _chip(), "NPU Name": _chip()})


def _memory(number: int) -> Iterator[str]:
    yield from _fields(
        {"NPU ID": number, "Chip Count": 1, "HBM Capacity(MB)": _megabytes(), "HBM Usage Rate(%)": 0, "Chip ID": 0}
    )


def _fields(values: dict[str, object]) -> Iterator[str]:
    for name, value in values.items():
        yield f"\t{name:<30} : {value}"
