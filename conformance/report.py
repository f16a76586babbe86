"""Summarize the results: an entry passes if all its samples agree, in every type and framework."""

from __future__ import annotations

import datetime
import platform
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

REACH = 0.98
"""The target share of the entries that return tensors."""
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"

Result = dict[str, Any]

_NO_TENSOR = "returns no tensor"


def passed(result: Result) -> bool:
    counts = result["checks"].values()
    return any(count.get("passed") for count in counts) and not any(
        count.get("failed") or count.get("cannot") for count in counts
    )


def share(results: list[Result]) -> float:
    entries = _by_entry(results)
    return sum(all(map(passed, found)) for found in entries.values()) / max(len(entries), 1)


def _by_entry(results: list[Result]) -> dict[str, list[Result]]:
    entries = defaultdict(list)
    for result in results:
        if _NO_TENSOR not in result["reasons"].get("capture", ""):
            entries[result["entry"]].append(result)
    return dict(entries)


def summary(results: list[Result]) -> str:
    entries = _by_entry(results)
    good = [name for name, found in entries.items() if all(map(passed, found))]
    lines = [f"{len(good)} of {len(entries)} entries that return tensors pass: {share(results):.1%}"]
    for check, counts in sorted(_totals(results).items()):
        lines.append(f"  {check}: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    lines += [f"  {name}: {reason}" for name, reason in _reasons(entries)]
    return "\n".join(lines)


def write(document: Path, results: list[Result]) -> None:
    """Return the document with the table between its marks."""
    entries = _by_entry(results)
    good = sum(all(map(passed, found)) for found in entries.values())
    table = [
        f"{good} of {len(entries)} entries that return tensors pass ({share(results):.1%}), {_samples(results)}: "
        f"{datetime.date.today().isoformat()}, PyTorch {version('torch')}, MindSpore {version('mindspore')}, "
        f"NumPy {version('numpy')}, {platform.machine()}.",
        "",
        "| check | samples passed | failed | cannot |",
        "|---|--:|--:|--:|",
    ]
    for check, counts in sorted(_totals(results).items()):
        table.append(f"| {check} | {counts.get('passed', 0)} | {counts.get('failed', 0)} | {counts.get('cannot', 0)} |")
    table += ["", "| entry | why it does not pass |", "|---|---|"]
    table += [f"| `{name}` | {_cell(reason)} |" for name, reason in _reasons(entries)]
    before, _, rest = document.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    document.write_text(f"{before}{BEGIN}\n" + "\n".join(table) + f"\n{END}{after}")


def _samples(results: list[Result]) -> str:
    most = {result["samples"] for result in results}
    return "with all of their samples" if most == {None} else f"with the first {max(most - {None})} of their samples"


def _totals(results: list[Result]) -> dict[str, dict[str, int]]:
    totals: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for result in results:
        for check, counts in result["checks"].items():
            for what, count in counts.items():
                totals[check][what] += count
    return totals


def _reasons(entries: dict[str, list[Result]]) -> list[tuple[str, str]]:
    found = []
    for name, results in entries.items():
        reasons = {
            reason: check for result in results if not passed(result) for check, reason in result["reasons"].items()
        }
        found += [(name, f"{check}: {reason}") for reason, check in reasons.items()]
    return found


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
