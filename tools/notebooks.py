"""Write an example notebook as a page of the site: its cells, and the outputs that are stored in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LANGUAGES = {"%%opbridge cpp": "c++", "%%opbridge cuda": "c++", "%%opbridge ascend": "c++"}
"""Languages of cells with a magic, for their colours; other cells are Python."""


def page(file: Path) -> str:
    """Return the page of a notebook in Markdown."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _parts(cell)) + "\n"


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield text
        return
    language = LANGUAGES.get(" ".join(text.split()[:2]), "python")
    yield f"```{language}\n{text}\n```"
    for output in cell["outputs"]:
        yield from _output(output)


def _output(output: dict[str, Any]) -> Iterator[str]:
    data = output.get("data", {})
    if "text/html" in data:
        # In one block, which a blank line would end.
        yield "\n".join(line for line in "".join(data["text/html"]).splitlines() if line.strip())
    elif text := "".join(output.get("text", data.get("text/plain", ""))):
        yield f"```text\n{text.rstrip()}\n```"
