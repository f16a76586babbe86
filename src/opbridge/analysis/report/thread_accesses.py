"""Show which thread touches which memory: rows of 32 words, with the thread that reads or writes each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from opbridge.analysis.profile.chips import WARP
from opbridge.analysis.profile.counts import Kind
from opbridge.analysis.profile.profile_contents import SECTOR, KernelCost, Touch
from opbridge.analysis.report.markup import Child, Markup, element

_HERE = Path(__file__).parent
_WORD = 4
_BANKS = 32
_ROW = _BANKS * _WORD
"""Bytes of memory in a row; in shared memory, a column is a bank."""
_ROWS = 40
"""The most rows in one picture; further rows are only counted."""
_SITES = 24
"""The most pictures for one kernel."""
_LABEL, _CELL, _HEIGHT, _TOP = 74, 24, 18, 16
_COLOURS = 8
_VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}


def page(kernels: Sequence[KernelCost]) -> str:
    """Return the HTML page about the accesses of kernels, as one file that needs no other."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", "opbridge: which thread touches what"),
        element("style", Markup((_HERE / "touches.css").read_text(encoding="utf-8"))),
    )
    said = (
        "The first block of each kernel's first launch: what its warps touch when they first come by.  A row is 128 "
        "bytes of memory, a number the thread, a colour a warp.  Thick lines part the sectors of 32 bytes in which "
        "global memory is moved; in shared memory each column is a bank, and a red frame a word that waits for another "
        "of its bank.  Rows that nobody touches are left out."
    )
    body = element("body", element("h1", "Which thread touches what"), element("p", said), map(_kernel, kernels))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _kernel(kernel: KernelCost) -> Markup:
    by_site: dict[tuple[str, int, Kind, str], list[Touch]] = defaultdict(list)
    for touch in kernel.touches:
        by_site[touch.place, touch.site, touch.kind, touch.array].append(touch)
    sites = sorted(by_site.items(), key=lambda item: (_line_number(item[0][0]), item[0]))
    advice: dict[tuple[str, Kind, str], str] = {
        (line.place, line.kind, line.space): line.advice for line in kernel.lines
    }
    figures: list[Child] = [
        _site(touches, advice.get((place, kind, "global" if array else "shared"), ""))
        for (place, _, kind, array), touches in sites[:_SITES]
    ]
    more = element("p", f"and {len(sites) - _SITES} more accesses") if len(sites) > _SITES else None
    size = " x ".join(str(extent) for extent in kernel.block if extent > 1) or "1"
    return element("section", element("h2", element("code", kernel.name), f"  blocks of {size} threads"), figures, more)


def _line_number(place: str) -> tuple[str, int]:
    file, _, number = place.rpartition(":")
    return (file, int(number)) if number.isdigit() else (place, 0)


def _site(touches: Sequence[Touch], advice: str) -> Markup:
    first = touches[0]
    where = first.array or "shared memory"
    head = element("strong", first.place), f" {_VERBS.get(first.kind, first.kind)} {where}"
    caption = element("figcaption", head, element("span", advice, class_="advice") if advice else None)
    return element("figure", caption, _picture(touches, f"{first.place} {first.kind} of {where}"))


@dataclass(frozen=True)
class _Cell:
    threads: tuple[int, ...]
    warp: int
    waits: bool
    """Whether the access waits for another word of its bank."""


def _cells(touches: Iterable[Touch], unit: int) -> dict[int, _Cell]:
    """Return the touched cells of `unit` bytes, numbered from the start of the array."""
    threads: dict[int, list[int]] = defaultdict(list)
    waiting = set[int]()
    for touch in touches:
        for lane, begin in touch.lanes:
            for at in range(begin, begin + touch.bytes, unit):
                threads[at // unit].append(touch.warp * WARP + lane)
        if not touch.array:
            waiting |= {word * _WORD // unit for word in _conflicts(touch)}
    return {at: _Cell(tuple(found), found[0] // WARP, at in waiting) for at, found in threads.items()}


def _conflicts(touch: Touch) -> set[int]:
    """Return the words that share a bank with another word, among lanes that are served together."""
    together = WARP * _WORD // max(touch.bytes, _WORD)
    banks: dict[tuple[int, int], set[int]] = defaultdict(set)
    for lane, begin in touch.lanes:
        for word in range(begin // _WORD, (begin + touch.bytes - 1) // _WORD + 1):
            banks[lane // together, word % _BANKS].add(word)
    return {word for words in banks.values() if len(words) > 1 for word in words}


def _picture(touches: Sequence[Touch], title: str) -> Markup:
    unit = min(_WORD, min(touch.bytes for touch in touches))
    cells = _cells(touches, unit)
    in_a_row = _ROW // unit
    rows = [(row, list(found)) for row, found in groupby(sorted(cells), lambda at: at // in_a_row)]
    is_shared = not touches[0].array
    banks = range(_BANKS if is_shared else 0)
    parts = [_text(_LABEL + bank * _CELL + _CELL / 2, 11, str(bank), "axis") for bank in banks]
    top, before = _TOP, -1
    for row, found in rows[:_ROWS]:
        if row != before + 1:
            parts.append(_text(_LABEL - 8, top + 9, "⋮", "axis end"))
            top += _HEIGHT * 2 // 3
        parts += _row(row, {at: cells[at] for at in found}, unit, top)
        parts += () if is_shared else _sectors(top)
        top, before = top + _HEIGHT, row
    if len(rows) > _ROWS:
        parts.append(_text(_LABEL, top + 13, f"and {len(rows) - _ROWS} more rows", "axis begin"))
        top += _HEIGHT
    box = f"0 0 {_LABEL + _BANKS * _CELL + 2} {top + 4}"
    return element("svg", element("title", title), parts, viewBox=box, role="img")


def _row(row: int, cells: dict[int, _Cell], unit: int, top: int) -> list[Markup]:
    width = _CELL * unit / _WORD
    first = row * _ROW // unit
    made = [_text(_LABEL - 8, top + 13, f"+{row * _ROW}", "axis end")]
    made.append(_box(_LABEL, top, _CELL * _BANKS, "row"))
    for at, cell in cells.items():
        left = _LABEL + (at - first) * width
        waits = " waits" if cell.waits else ""
        told = element("title", f"byte {at * unit}: thread {', '.join(map(str, cell.threads))}")
        made.append(_box(left, top, width, f"warp-{cell.warp % _COLOURS}{waits}", told))
        if unit == _WORD:
            many = len(set(cell.threads))
            said = str(cell.threads[0]) if many == 1 else f"×{many}"
            made.append(_text(left + width / 2, top + 13, said, "cell"))
    return made


def _sectors(top: int) -> Iterable[Markup]:
    for sector in range(1, _ROW // SECTOR):
        left = _LABEL + sector * SECTOR // _WORD * _CELL
        yield element("line", x1=left, x2=left, y1=top, y2=top + _HEIGHT, class_="sector")


def _box(left: float, top: float, width: float, kind: str, *children: Child) -> Markup:
    return element("rect", *children, x=left, y=top, width=width, height=_HEIGHT, class_=kind)


def _text(left: float, base: float, said: str, kind: str) -> Markup:
    return element("text", said, x=left, y=base, class_=kind)
