"""Draw the pictures of docs/gallery.md from the files in pages: `python tools/gallery.py [NAME ...]`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from picture import svg

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
_FILE = re.compile(r'^```[\w+-]+ title="(?P<name>[^"]+)"\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)
_WIDTH = 1100


@dataclass(frozen=True)
class Picture:
    page: str
    """The page whose files are written to the folder."""
    commands: tuple[str, ...]
    """Shell commands; the output of the last one is the picture if there is no page."""
    html: str = ""
    """The page that they write, to be drawn by a browser."""
    height: int = 0


GALLERY = {
    "race": Picture(
        "docs/learn-cuda.md", ("sed -i '0,/__syncthreads();/s///' sums.cu", "opbridge twin nvcc -run sums.cu")
    ),
    "cost": Picture("docs/profile.md", ("opbridge profile transpose.cu",)),
    "pipes": Picture("docs/profile.md", ("opbridge profile tiles.yaml",)),
    "judged": Picture(
        "docs/judge.md",
        (
            "sed -i 's/i < n/i < n - 1/' answer.py",
            "opbridge judge reference.py answer.py --seed 0",
        ),
    ),
    "touches": Picture(
        "docs/learn-cuda.md", ("opbridge profile --trace-memory touches.html turn.cu",), "touches.html", 700
    ),
    "report": Picture(
        "docs/report.md",
        ("opbridge report ops.yaml -o report.html --framework numpy --framework torch",),
        "report.html",
        1180,
    ),
}


def make(name: str) -> Path:
    picture = GALLERY[name]
    with tempfile.TemporaryDirectory(prefix="opbridge-gallery-") as folder:
        for found in _FILE.finditer((ROOT / picture.page).read_text()):
            Path(folder, found["name"]).write_text(found["text"])
        variables = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        for command in picture.commands:
            done = subprocess.run(
                command,
                shell=True,
                cwd=folder,
                env=variables,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        if not picture.html:
            target = PICTURES / f"{name}.svg"
            screen = done.stdout.replace(f"{folder}/", "")
            target.write_text(svg(picture.commands[-1], screen))
            return target
        target = PICTURES / f"{name}.png"
        size = f"--window-size={_WIDTH},{picture.height}"
        shot = ("chromium", "--headless", "--no-sandbox", "--hide-scrollbars", size, f"--screenshot={target}")
        subprocess.run([*shot, f"file://{folder}/{picture.html}"], check=True, stderr=subprocess.DEVNULL)
        return target


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for chosen in sys.argv[1:] or GALLERY:
        print(make(chosen))
