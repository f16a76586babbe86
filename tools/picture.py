"""Draws the screen of a command as an SVG: `python tools/picture.py opbridge demo > docs/demo.svg`."""

from __future__ import annotations

import subprocess
import sys
from html import escape

CELL, LINE, MARGIN = 8.43, 19, 22
COLOURS = {"✓": "#3fb950", "∂": "#3fb950", "✗": "#f85149", "$": "#8b949e"}


def svg(command: str, screen: str) -> str:
    lines = [f"$ {command}", *screen.rstrip("\n").split("\n")]
    width = MARGIN * 2 + CELL * max(map(len, lines))
    height = MARGIN * 2 + LINE * len(lines)
    rows = []
    for number, line in enumerate(lines):
        colour = COLOURS["$"] if line.startswith("$") else "#e6edf3"
        text = "".join(
            f'<tspan fill="{COLOURS[letter]}">{letter}</tspan>' if letter in "✓∂✗" else escape(letter)
            for letter in line
        )
        y = MARGIN + LINE * (number + 0.8)
        rows.append(f'<text x="{MARGIN}" y="{y:.0f}" fill="{colour}" xml:space="preserve">{text}</text>')
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
            f"<title>{escape(command)}</title>",
            f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="#0d1117"/>',
            '<g font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14">',
            *rows,
            "</g>",
            "</svg>",
        ]
    )


if __name__ == "__main__":
    run = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=True)
    print(svg(" ".join(sys.argv[1:]), run.stdout))
