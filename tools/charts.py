"""Draw the bar charts of the documentation.

    python tools/charts.py [RESULTS.json]

Without an argument, from the tables of results in the repository.  With the JSON of `make bench`, calls and formulas
show that run.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
RESULTS, FORMULAS = ROOT / "benchmarks" / "results.md", ROOT / "benchmarks" / "formulas.md"
COURSE, VERDICTS = ROOT / "docs" / "evidence" / "cuda-speed.md", ROOT / "docs" / "evidence" / "judge.md"
LINE, LEFT, WIDTH, TOP = 24, 455, 960, 64
FASTER, SLOWER, TEXT, DIM = "#3fb950", "#d29922", "#e6edf3", "#8b949e"
CALLS = (
    ("PyTorch call, 4 floats, no grad: `op(x)`", "TORCH_LIBRARY operator"),
    ("PyTorch call, 4 floats, forward with grad: `op(x)`", "C++ autograd::Function"),
    ("PyTorch call, 4 floats, forward with grad: `op(x)`", "custom_op + register_autograd"),
    ("PyTorch call, 4 floats, forward and backward: `op(x)`", "C++ autograd::Function"),
    ("NumPy call, 4 floats: `op(x, out=out)`", "tvm-ffi"),
    ("MindSpore call, 4 floats, PyNative: `op(x)`", "ops.Custom"),
    ("JAX call, 4 floats: `jax.jit(op.jax)(x)`", "a hand-written FFI handler"),
)
"""Rows of the results, and their peers."""

Bar = tuple[str, float, str]
"""A label, opbridge's time divided by the peer's, and a note at the end of the bar."""


def rows(file: Path) -> Iterator[list[str]]:
    """Yield the cells of every row of the tables in a page, or of the results in the JSON of `make bench`."""
    for line in (_table_of(file) if file.suffix == ".json" else file.read_text()).splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def _table_of(results: Path) -> str:
    """Return the table that `make bench` writes for its JSON."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from table import Row, results_table
    from timing import Spread

    def row(fields: dict[str, object]) -> Row:
        spreads = {name: Spread(**fields[name]) for name in ("ours", "theirs", "ratio") if fields[name]}
        reach = Fraction(fields["reach"]) if fields["reach"] else None
        return Row(**{**fields, **spreads, "reach": reach})

    return str(results_table(map(row, json.loads(results.read_text())["rows"]), {}))


def ratio(cell: str) -> float:
    """Return the number that a table writes as `0.57x (...)`, `0.57x` or `1/2.4`."""
    first = cell.split()[0].removesuffix("x")
    over, _, under = first.partition("/")
    return float(over) / float(under or 1)


def calls(results: Path = RESULTS) -> list[Bar]:
    """Return the overhead of a call next to its peers, from the first table of results."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows(results):
        found.setdefault((row[0], row[2] if len(row) > 2 else ""), row)
    chosen = [found[pair] for pair in CALLS if pair in found]
    return [
        (f"{row[0].split(': ')[0].replace(', 4 floats', '')} / {row[2]}", ratio(row[4]), f"{row[1]} / {row[3]}")
        for row in chosen
    ]


def formulas(results: Path = FORMULAS) -> list[Bar]:
    """Return the forward time of each formula next to torch.compile, from the first table of results."""
    found: dict[str, Bar] = {}
    for row in rows(results):
        if row[0].startswith("formula: ") and row[0].endswith(", forward") and row[2] == "torch.compile":
            label = row[0].removeprefix("formula: ").removesuffix(", forward")
            found.setdefault(label, (label, ratio(row[4]), f"{ratio(row[4]):.2f}x"))
    return sorted(found.values(), key=lambda bar: bar[1])


def twin() -> list[Bar]:
    """Return the time of each kernel in the CUDA twin, without checks, next to a loop."""
    found = [row for row in rows(COURSE) if len(row) == 6 and re.fullmatch(r"[\d.]+x", row[3])]
    return [(row[0], ratio(row[3]), f"{row[2]} / {row[1]}") for row in found]


def chart(title: str, bars: Sequence[Bar]) -> str:
    """Return bars to the left of 1x for what is faster, to the right for what is slower, on a logarithmic scale."""
    low = min(math.log2(bar[1]) for bar in bars)
    high = max(math.log2(bar[1]) for bar in bars)
    low, high = min(low, -1.0), max(high, 1.0)
    scale = (WIDTH - LEFT - 150) / (high - low)
    zero = LEFT - low * scale
    height = TOP + LINE * len(bars) + 16
    parts = [_axis(zero, height)]
    parts += [_bar(bar, zero, scale, TOP + LINE * number) for number, bar in enumerate(bars)]
    return _frame(title, height, parts)


def stacks(title: str, groups: Sequence[tuple[str, Sequence[tuple[str, int, str]]]]) -> str:
    """Return one bar a group, divided by the counts of its parts."""
    parts, height = [], TOP + 46 * len(groups)
    for number, (label, counts) in enumerate(groups):
        y, x, total = TOP - 8 + 46 * number, 250.0, sum(count for _, count, _ in counts)
        parts.append(f'<text x="20" y="{y + 21}" fill="{TEXT}">{escape(label)}</text>')
        for name, count, colour in counts:
            wide = 680 * count / total
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="30" fill="{colour}"/>')
            if wide > 60:
                parts.append(f'<text x="{x + 10:.1f}" y="{y + 20}" fill="#0d1117">{count} {escape(name)}</text>')
            x += wide
    return _frame(title, height, parts)


def verdicts() -> str:
    """Return what the judge says of answers that an A100 calls right and wrong."""
    found = {row[0]: row[2] for row in rows(VERDICTS) if len(row) == 3}
    right, refuted = _counts(found["right"], "right", "refuted")
    rejected, believed = _counts(found["wrong"], "rejected", "right")
    return stacks(
        "The judge's verdicts on KernelBench answers, by what an A100 run said",
        [
            (f"{right + refuted} right on the A100", [("right", right, FASTER), ("refuted", refuted, SLOWER)]),
            (f"{rejected + believed} wrong on the A100", [("rejected", rejected, FASTER), ("", believed, "#f85149")]),
        ],
    )


def _counts(text: str, *names: str) -> list[int]:
    return [int(re.findall(rf"(\d+) {name}\b", text)[0]) for name in names]


def _axis(zero: float, height: int) -> str:
    return (
        f'<path d="M{zero:.1f} {TOP - 10}V{height - 12}" stroke="{DIM}"/>'
        f'<text x="{zero - 8:.1f}" y="{TOP - 14}" fill="{DIM}" text-anchor="end">faster</text>'
        f'<text x="{zero + 8:.1f}" y="{TOP - 14}" fill="{DIM}">slower</text>'
    )


def _bar(bar: Bar, zero: float, scale: float, y: int) -> str:
    label, value, note = bar
    wide = math.log2(value) * scale
    end = zero + max(wide, 0) + 8
    return (
        f'<text x="20" y="{y + 12}" fill="{TEXT}">{escape(label)}</text>'
        f'<rect x="{zero + min(wide, 0):.1f}" y="{y}" width="{abs(wide):.1f}" height="15"'
        f' fill="{FASTER if value <= 1 else SLOWER}"/>'
        f'<text x="{end:.1f}" y="{y + 12}" fill="{DIM}">{escape(note)}</text>'
    )


def _frame(title: str, height: int, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
    font = 'font-family="system-ui,Segoe UI,Helvetica,Arial,sans-serif" font-size="13"'
    shown = f'<text x="20" y="30" fill="{TEXT}" font-size="15">{escape(title)}</text>'
    back = f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#0d1117"/>'
    return "\n".join([f"{head} {font}>", f"<title>{escape(title)}</title>", back, shown, *parts, "</svg>"]) + "\n"


_OF_CALLS = "Time of one call, opbridge / peer, 4 floats"
_OF_FORMULAS = "Forward time of formulas, opbridge / torch.compile"
CHARTS: dict[str, Callable[[], str]] = {
    "calls": lambda: chart(_OF_CALLS, calls()),
    "formulas": lambda: chart(f"{_OF_FORMULAS}, AVX-512", formulas()),
    "twin-speed": lambda: chart("CUDA kernels in the twin without checks, twin / loop for a CPU", twin()),
    "verdicts": verdicts,
}


def measured(results: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and picture of each chart that a run of `make bench` has rows for."""
    if bars := calls(results):
        yield "calls", chart(_OF_CALLS, bars)
    if bars := formulas(results):
        yield "formulas", chart(_OF_FORMULAS, bars)


if __name__ == "__main__":
    drawn = measured(Path(sys.argv[1])) if sys.argv[1:] else ((name, draw()) for name, draw in CHARTS.items())
    for name, picture in drawn:
        (PICTURES / f"{name}.svg").write_text(picture)
