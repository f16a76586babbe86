"""Describe in one sentence what makes a line expensive, and what to change."""

from __future__ import annotations

from opbridge.analysis.profile.chips import WARP
from opbridge.analysis.profile.profile_contents import LineCost

_WORTH = 1.5
"""The ratio of parts to needed parts from which a line gets advice."""
_VERBS = {"load": "read", "store": "write", "atomic": "update"}


def advice(line: LineCost) -> str:
    """Return the advice for a line; empty if there is nothing to change."""
    if line.kind == "branch":
        return _of_branch(line)
    if line.kind == "atomic" and line.queued * 2 > line.lanes:
        return _of_atomic(line)
    if line.space == "constant" and line.parts > _WORTH * line.least:
        return _of_constants(line)
    if line.space == "shared" and line.parts > _WORTH * line.least:
        return _of_banks(line)
    if line.space == "global":
        return _of_sectors(line)
    return ""


def _of_sectors(line: LineCost) -> str:
    verb = _VERBS[line.kind]
    stride, size = abs(line.worst_stride), line.bytes // max(line.lanes, 1)
    many = f"{line.worst_lanes} lanes {verb} {line.worst} sectors"
    if line.parts > _WORTH * line.least:
        if stride > size:
            apart = f"{many}, {stride} bytes apart"
            if stride <= 4 * size:
                return f"{apart}: keep what one thread uses in separate arrays, or {verb} it at once as a vector"
            return f"{apart}: make the fast index threadIdx.x, or go through shared memory"
        return f"{many}, scattered: let neighbours {verb} neighbours, sort the indices, or go through shared memory"
    if line.parts > line.least + line.requests / 2 and line.lanes > WARP // 2 * line.requests:
        return f"{many} where {round(line.least / line.requests)} would do: begin rows at a multiple of 32 bytes"
    if line.kind == "load" and line.parts >= 4 * line.fresh > 0:
        times = line.parts / line.fresh
        return f"each sector is read {times:.0f} times by a block: keep it in shared memory or in registers"
    if line.lanes * 2 < line.requests * WARP:
        few = line.lanes / line.requests
        return f"{few:.0f} of 32 lanes {verb}: give each warp whole rows, or let one thread do less"
    return ""


def _of_banks(line: LineCost) -> str:
    stride = abs(line.worst_stride)
    ways = line.worst
    many = f"{line.worst_lanes} lanes need {ways} passes"
    if stride and stride % 128 == 0:
        return f"{many}, all in one bank: add a column to the array, as in [32][33]"
    if stride and stride % 8 == 0 and stride > 4:
        return f"{many}, {stride} bytes apart: add a column to the array, or store structures as arrays of their fields"
    return f"{many}: lanes share banks; let neighbours use neighbouring words"


def _of_constants(line: LineCost) -> str:
    many = f"{line.worst_lanes} lanes read {line.worst} words of constant memory in turn"
    return f"{many}: let all lanes read one word, or keep it in shared memory"


def _of_atomic(line: LineCost) -> str:
    where = "shared" if line.space == "shared" else "global"
    together = line.queued / line.requests + 1
    lanes = "all lanes" if together >= line.lanes / line.requests - 0.5 else f"{together:.0f} lanes"
    how = (
        "reduce the warp by __shfl_down_sync first"
        if where == "shared"
        else "add up in shared memory or by __shfl_down_sync first"
    )
    return f"{lanes} of a warp update one address in turn: {how}"


def _of_branch(line: LineCost) -> str:
    share = line.lanes / line.requests
    if line.requests < 2 and share < WARP:
        return ""
    return "lanes of a warp diverge here, and both branches run: make the condition equal for 32 neighbours"
