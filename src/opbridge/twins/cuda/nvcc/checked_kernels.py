"""Combine checked kernels and the source's unchecked code in one object file.

A source is compiled twice. From the instrumented object only the kernels and the functions they call are kept.
These functions get new names, and they share the variables of the plain object. The file begins with code that
registers each kernel with the twin's library (`ob_twin_enroll`). So host code, and blocks that are not
checked, run as the compiler produced them.
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
"""The suffix of the names of functions with checks."""

_COPIES = {name: f"__wrap_{name}" for name in (*cuda.REPLACED, *cuda.HEAP)}
_KEEPING = ("ld", "-r", "--gc-sections", "--force-group-allocation")
"""The linker command that drops everything not reachable from the roots."""
_FORMATS = {"x86_64": "elf64-x86-64", "aarch64": "elf64-littleaarch64"}
_FORMAT = tuple(f"--target={name}" for machine, name in _FORMATS.items() if machine == os.uname().machine)
"""The object format for nm. Detecting it makes nm load linker plugins, ten times slower than reading the names."""
_ENROLL = re.compile(r"_ZN13opbridge_twin8Enrolled.*6enrollEv")
_STATES_OF_THE_TWIN = re.compile(r"_ZStL8__ioinit|_ZGV|.*4slot|.*13vain_attempts|\.L")
_RELOCATION = re.compile(r"^[0-9a-f]+\s+[0-9a-f]+\s+R_\w+64\s+[0-9a-f]+\s+(\S+)")

Call = Callable[[Sequence[str]], int]


def replacing_copies(call: Call, made: Path) -> int:
    """Redirect the memory copies of an instrumented object to functions that check them; return the exit code."""
    return call(["objcopy", *(f"--redefine-sym={name}={replaced}" for name, replaced in _COPIES.items()), str(made)])


def launches(plain: Path) -> bool:
    """Return whether an object contains kernels, or complete functions that launch the kernels of another."""
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
    """Link the plain and the checked object into one file; return the exit code, or None if they cannot be combined.

    They cannot if the kernels would get their own copies of state that they must share with host code.

    Args:
        unit: A name that no other object file has; the names of the registering functions contain it.
        device_functions: The functions that kernels of one source call and another source defines.
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
        ["objcopy", *(f"--weaken-symbol={name}" for name in common), str(kept)],  # other files define them too
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
    """Yield the objcopy options that separate an instrumented object from the one without checks."""
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
    # Constructors initialize the plain object's variables and must run only once.
    for section in "init_array", "fini_array":
        yield f"--remove-section=.{section}*"
        yield f"--remove-section=.rela.{section}*"


def _constructors(file: Path, functions: Iterable[str]) -> Path:
    """Write assembly that calls the functions when a program starts; return the file."""
    calls = "".join(f".8byte {name}\n" for name in functions)
    end = '.section .note.GNU-stack,"",%progbits\n'
    file.write_text(f'.section .init_array,"aw",%init_array\n.p2align 3\n{calls}{end}')
    return file


def _definitions(file: Path, common: Iterable[str]) -> Path:
    """Write assembly that defines variables no file defines, such as OpenMP's locks; return the file.

    ld drops such a variable if only debug information refers to it.
    """
    variables = "".join(f'.globl "{name}"\n.balign 8\n"{name}": .zero 8\n' for name in common)
    file.write_text(f'.bss\n{variables}.section .note.GNU-stack,"",%progbits\n')
    return file


def _own_name(symbol: str) -> str:
    """Return a function's name without its namespaces and parameters."""
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
    """Return whether the kept code has variables local to its file, which would then exist twice."""
    return any(kind in "db" and not _STATES_OF_THE_TWIN.match(name) for kind, name in _symbols(kept))


def _has_functions_in_memory(kept: Path) -> bool:
    """Return whether data contains pointers to functions or virtual tables, which host and kernels may exchange."""
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
