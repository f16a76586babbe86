"""Puts kernels with checks beside a source's code without them, in one object file.

A source is compiled twice.  From the one that is instrumented nothing but its kernels is kept, and what they call: its
functions get names of their own, its variables are those of the other, and the file begins with code that tells the
twin's library of each kernel (`ob_twin_enroll`).  So host code runs as the compiler made it, and so may blocks.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from opbridge.twins import cuda

SUFFIX = ".checked"
"""Of the functions with checks."""

_COPIES = {name: f"__wrap_{name}" for name in (*cuda.REPLACED, *cuda.HEAP)}
_KEEPING = ("ld", "-r", "--gc-sections", "--force-group-allocation")
"""What nothing reaches from the roots is left out."""
_FORMATS = {"x86_64": "elf64-x86-64", "aarch64": "elf64-littleaarch64"}
_FORMAT = tuple(f"--target={name}" for machine, name in _FORMATS.items() if machine == os.uname().machine)
"""What nm is told, because it loads linkers' plugins to find it out: that takes ten times as long as the names."""
_ENROLL = re.compile(r"_ZN13opbridge_twin8Enrolled.*6enrollEv")
_STATES_OF_THE_TWIN = re.compile(r"_ZStL8__ioinit|_ZGV|.*4slot|.*13vain_attempts|\.L")
_RELOCATION = re.compile(r"^[0-9a-f]+\s+[0-9a-f]+\s+R_\w+64\s+[0-9a-f]+\s+(\S+)")

Call = Callable[[Sequence[str]], int]


def replacing_copies(call: Call, made: Path) -> int:
    """Has the copies of memory in an instrumented object seen by the checks."""
    return call(["objcopy", *(f"--redefine-sym={name}={replaced}" for name, replaced in _COPIES.items()), str(made)])


def launches(plain: Path) -> bool:
    """Whether an object has kernels, or whole functions that launch those of another."""
    return any(name == "ob_twin_launch" for _, name in _symbols(plain))


def join(
    call: Call,
    plain: Path,
    checked: Path,
    target: Path,
    unit: str,
    assembler: Sequence[str],
    device_functions: AbstractSet[str],
) -> int | None:
    """Makes the object file of the two; None where they cannot be one, because they would not share what they must.

    With `unit` come names that no other object file has; `device_functions` are those that one source's kernels call
    and another has.
    """
    symbols = list(_symbols(checked))
    enrolling = [name for kind, name in symbols if kind in "tWT" and _ENROLL.fullmatch(name)]
    for_others = [name + SUFFIX for kind, name in symbols if kind == "T" and _own_name(name) in device_functions]
    if not enrolling and not for_others:
        return call(["ld", "-r", str(plain), "-o", str(target)])
    names = {name: f"ob_twin_enroll_{unit}_{i}" for i, name in enumerate(enrolling)}
    beginning, kept = checked.with_suffix(".begin.o"), checked.with_suffix(".kept.o")
    roots = checked.with_suffix(".roots")
    common = [name for kind, name in symbols if kind == "C"]
    roots.write_text("".join(f"-u {name}\n" for name in (*names.values(), *for_others, *common)))
    defined = checked.with_suffix(".common.o")
    for command in (
        ["objcopy", *_renaming(checked, symbols, names, device_functions), str(checked)],
        [*assembler, str(_definitions(checked.with_suffix(".common.s"), common)), "-o", str(defined)],
        [*_KEEPING, f"@{roots}", str(checked), str(defined), "-o", str(kept)],
        ["objcopy", *(f"--weaken-symbol={name}" for name in common), str(kept)],  # other files have them too
        [*assembler, str(_constructors(checked.with_suffix(".s"), names.values())), "-o", str(beginning)],
    ):
        if code := call(command):
            return code
    if _has_state_of_its_own(kept) or _has_functions_in_memory(kept):
        return None
    return call(["ld", "-r", str(plain), str(kept), str(beginning), "-o", str(target)])


def _renaming(
    checked: Path, symbols: Iterable[tuple[str, str]], enrolling: Mapping[str, str], device_functions: AbstractSet[str]
) -> Iterator[str]:
    """The options of objcopy that set an instrumented object apart from the one without checks."""
    renamed = {**_COPIES, **enrolling}
    variables = []
    for kind, name in symbols:
        if name in renamed:
            continue
        is_function = kind in "TWi" or (kind == "U" and _own_name(name) in device_functions)
        if is_function or (kind == "V" and name.startswith(("_ZTV", "_ZTT"))):
            renamed[name] = name + SUFFIX
        elif kind in "DBRGSC":
            variables.append(name)
    lists = {
        "redefine-syms": [f"{old} {new}" for old, new in renamed.items()],
        "weaken-symbols": variables,
        "globalize-symbols": [*enrolling, *enrolling.values()],
    }
    for option, lines in lists.items():
        if lines:  # objcopy refuses an empty file
            file = checked.with_suffix(f".{option}")
            file.write_text("".join(f"{line}\n" for line in lines))
            yield f"--{option}={file}"
    # Constructors are for the other's variables, to run once.
    for section in "init_array", "fini_array":
        yield f"--remove-section=.{section}*"
        yield f"--remove-section=.rela.{section}*"


def _constructors(file: Path, functions: Iterable[str]) -> Path:
    """Assembly that has them called when a program begins."""
    calls = "".join(f".8byte {name}\n" for name in functions)
    end = '.section .note.GNU-stack,"",%progbits\n'
    file.write_text(f'.section .init_array,"aw",%init_array\n.p2align 3\n{calls}{end}')
    return file


def _definitions(file: Path, common: Iterable[str]) -> Path:
    """Assembly with what no file defines, such as OpenMP's locks: ld drops it where only debug information names it."""
    variables = "".join(f'.globl "{name}"\n.balign 8\n"{name}": .zero 8\n' for name in common)
    file.write_text(f'.bss\n{variables}.section .note.GNU-stack,"",%progbits\n')
    return file


def _own_name(symbol: str) -> str:
    """Of a function, without its namespaces and parameters."""
    rest = re.sub(r"^_ZN?K?", "", symbol)
    name = symbol
    while found := re.match(r"\d+", rest):
        end = found.end() + int(found[0])
        name, rest = rest[found.end() : end], rest[end:]
    return name


def _symbols(file: Path) -> Iterator[tuple[str, str]]:
    listed = subprocess.run(
        ["nm", *_FORMAT, str(file)], capture_output=True, text=True, errors="surrogateescape"
    ).stdout
    for line in listed.splitlines():
        if len(words := line.split()) >= 2:
            yield words[-2], words[-1]


def _has_state_of_its_own(kept: Path) -> bool:
    """Variables that only their file knows are there twice."""
    return any(kind in "db" and not _STATES_OF_THE_TWIN.match(name) for kind, name in _symbols(kept))


def _has_functions_in_memory(kept: Path) -> bool:
    """Pointers to functions and tables of virtual ones: host code and kernels hand them to each other."""
    listed = subprocess.run(["readelf", "-rW", str(kept)], capture_output=True, text=True).stdout
    of_data = False
    for line in listed.splitlines():
        if line.startswith("Relocation section"):
            of_data = "'.rela.data" in line
        elif of_data and (found := _RELOCATION.match(line)) and _is_code(found[1]):
            return True
    return False


def _is_code(name: str) -> bool:
    return name.endswith(SUFFIX) or name.startswith(".text")
