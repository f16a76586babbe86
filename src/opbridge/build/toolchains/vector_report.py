"""Report which loops of a kernel g++ vectorized, from its optimization record, and what keeps the others scalar.

A record contains a loop's location and every function that was inlined around it. The loop of
`ob::parallel_for` is in a header. Its records name the lambda that is its body, once for each type of the
kernel's template.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opbridge.base.errors import ToolchainError
from opbridge.build.toolchains import host
from opbridge.build.toolchains.build_plan import absolute
from opbridge.build.toolchains.interface import BuildRequest

Record = dict[str, Any]


@dataclass(frozen=True)
class Loop:
    """One loop of a kernel, and why it is scalar if it is."""

    file: Path
    line: int
    """The line of the loop; for a loop in a header, the first line of its body in the record."""
    kernel: str
    """The function that contains it, with its types: `silu<float>`."""
    reason: str
    """Why it stays scalar; empty for vector code."""
    advice: str

    def __str__(self) -> str:
        found = f"scalar: {self.reason}" if self.reason else "vector code"
        return f"{self.file.name}:{self.line}: {self.kernel}: {found}" + (f"\n  {self.advice}" if self.advice else "")


# A pattern for g++'s message, its meaning in a kernel, and advice; the first match counts.
_REASONS = (
    (
        r"clobbers memory: .*?(?:= )?(?:__builtin_)?(\w+) ?\(|function calls? .*?(\w+) ?\(",
        "it calls {}, once for each element",
        "the functions of opbridge/math.h have no call; make one of your own inline, and check before the loop",
    ),
    (
        r"control flow in loop|number of iterations|latch block|multiple exits|not single exit|relevant stmt",
        "it may branch or end early",
        "compute both sides of an `if` and choose with `?:`, of floats and not of half; join bools by & and |; check "
        "before the loop",
    ),
    (
        r"reduction|unsupported use|use in stmt|scalar dependence|unsupported outerloop",
        "each round needs the one before it, as in a sum, whose order the compiler must keep",
        "ob::sum, ob::maximum, ob::reduce and ob::parallel_reduce keep many running values side by side",
    ),
    (
        r"gather|data ref analysis|dependence|alias|evolution|strided|grouped",
        "it reads or writes at an index that is not the loop's, or the compiler cannot tell tensors apart",
        "take contiguous tensors, x[i] at the loop's own i, and capture by value: [=]",
    ),
    (
        r"no vectype",
        "it loads or stores what there are no vectors of, as a bool through a pointer",
        "take a mask as ob::In<bool>, whose mask[i] is read as a byte, or read it as uint8_t",
    ),
    (r"not profitable", "the compiler estimates that vector code would be no faster", "change nothing: it is short"),
)
_CONVERSIONS = ("ob::detail::widen(", "ob::detail::narrow(")
"""Internal loops of ob::map, which would be reported instead of the kernel's."""
_MAP = "ob::detail::map_row("
_HALVES = "halves are converted by a dozen operations each: ob::map(out, f, x, ...) has the processor's one for it"
_NOT_A_REASON = ("loop nest", "inner loop", "basic block")
_SELDOM_THE_REASON = "no vectype"


def loops(request: BuildRequest) -> tuple[Loop, ...]:
    """Return the loops of the request's C++ sources in the order of their lines.

    The sources are compiled once more, outside the cache.

    Raises:
        ToolchainError: The host compiler is clang, or a source does not compile.
    """
    if host.is_clang():
        raise ToolchainError("which loops are vector code is read from g++'s records\n  unset CXX, or name g++ in it")
    found: dict[Loop, None] = {}
    request = absolute(request)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "scratch").mkdir()
        for at, command in enumerate(host.commands(request, folder).compiles):
            record = ("-fsave-optimization-record", "-dumpdir", f"{folder}/{at}-")
            done = subprocess.run((*command.argv, *record), cwd=request.project, capture_output=True, text=True)
            if done.returncode:
                raise ToolchainError(f"{command.about} failed while its loops were looked at\n{done.stderr}")
            for path in folder.glob(f"{at}-*.opt-record.json.gz"):
                records = json.loads(gzip.decompress(path.read_bytes()))[2]
                found |= dict.fromkeys(_loops_of(records, request.sources))
    return tuple(sorted(found, key=lambda loop: (loop.file, loop.line, loop.kernel)))


def _loops_of(records: list[Record], sources: tuple[Path, ...]) -> Iterator[Loop]:
    """Yield the loops in one record.

    A template's loop appears once for each of its types. It is scalar in a function if no copy of it there was
    vectorized.
    """
    by_function: dict[str, list[Record]] = {}
    for record in records:
        by_function.setdefault(record.get("function", ""), []).append(record)
    for told in by_function.values():
        theirs = _spots_in(sources, told)
        outcomes: dict[tuple[Path, int, str], str] = {}
        vector: dict[tuple[Path, int, str], str] = {}
        reason = ""
        for record in told:
            message = _message(record)
            tells = message.startswith("not vectorized: ") or "clobbers memory" in message
            if tells and (not reason or _SELDOM_THE_REASON in reason):
                reason = "" if any(word in message for word in _NOT_A_REASON) else message
            if message.startswith("loop vectorized"):
                if place := _place(record, theirs, sources):
                    vector[place] = _HALVES if _converts_halves(record, place[2]) else ""
            elif message.startswith("couldn't vectorize loop"):
                if reason and (place := _place(record, theirs, sources)):
                    outcomes.setdefault(place, reason)
                reason = ""
        for place, advice in vector.items():
            yield Loop(*place, "", advice)
        for place, why in outcomes.items():
            if place not in vector:
                yield Loop(*place, *_explained(why))


def _converts_halves(record: Record, kernel: str) -> bool:
    """Return whether the loop converts halves on a processor with an instruction for it, which g++ uses in no loop."""
    names = (str(link.get("fndecl")) for link in record.get("inlining_chain", []))
    return "half" in kernel and os.uname().machine == "x86_64" and not any(_MAP in name for name in names)


def _spots_in(sources: tuple[Path, ...], told: list[Record]) -> list[tuple[Path, int]]:
    """Return the user's source lines in a function's records.

    Call it once per function: g++ writes thousands of records for each.
    """
    return sorted({spot for record in _all(told) for spot in _spots(record, sources)}, key=lambda spot: spot[1])


def _place(record: Record, theirs: list[tuple[Path, int]], sources: tuple[Path, ...]) -> tuple[Path, int, str] | None:
    """Return the loop's place in the user's files, with its kernel; None if it has none.

    `theirs` are the places in those files from all records of the function.
    """
    chain = record.get("inlining_chain", [])
    names = [text for link in chain if (text := link.get("fndecl"))]
    kernel = next((name for text in names if (name := _kernel(text))), "")
    if not kernel or any(conversion in name for conversion in _CONVERSIONS for name in names):
        return None
    spots = [*_spots(record, sources)] or theirs
    return (*spots[0], kernel) if spots else _defined(kernel, sources)


def _defined(kernel: str, sources: tuple[Path, ...]) -> tuple[Path, int, str] | None:
    """Return where the function begins, for a loop whose records contain no line of the user's source."""
    name = re.compile(rf"\b{re.escape(kernel.partition('<')[0])}\(")
    for file in sources:
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if name.search(line):
                return file, number, kernel
    return None


def _all(records: list[Record]) -> Iterator[Record]:
    for record in records:
        yield record
        yield from _all(record.get("children", []))


def _spots(record: Record, sources: tuple[Path, ...]) -> Iterator[tuple[Path, int]]:
    links = (link.get("site") for link in record.get("inlining_chain", []))
    for spot in (record.get("location"), *links):
        for source in sources if spot else ():
            if spot.get("file") == str(source):
                yield source, int(spot["line"])


def _kernel(text: str) -> str:
    """Return `silu<float>` from "... [with F = const silu<float>(ob::In<...>...)::<lambda(int64_t)>]"."""
    found = re.search(r"(?:F = (?:const )?|auto function = |Map = |Body = )([\w:]+(?:<[\w:, ]*>)?)(?=[(;\]])", text)
    return found[1] if found else ""


def _message(record: Record) -> str:
    parts = (
        part if isinstance(part, str) else part.get("expr") or part.get("stmt") or part.get("symtab_node") or ""
        for part in record["message"]
    )
    return "".join(map(str, parts)).strip()


def _explained(message: str) -> tuple[str, str]:
    for pattern, meaning, advice in _REASONS:
        if found := re.search(pattern, message):
            return meaning.format(next(filter(None, found.groups()), "a function")), advice
    return message.removeprefix("not vectorized: ").rstrip("."), "docs/kernel-header.md says what loops should be like"
