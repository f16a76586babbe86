"""The examination of a file that is to be loaded as a library."""

from __future__ import annotations

import platform
import re
import sysconfig
from pathlib import Path

from opbridge.authoring.doctor.entry_points import entry_points
from opbridge.authoring.doctor.loader import Closure, Missing, closure
from opbridge.authoring.doctor.packages import how_to_get
from opbridge.authoring.doctor.processor import X86, level_here, level_name
from opbridge.authoring.doctor.report import LibraryReport, Problem
from opbridge.authoring.doctor.symbol_sources import SOURCES, SymbolSource, interpreter
from opbridge.authoring.doctor.symbols import explain, undefined
from opbridge.base.errors import InputError, KernelError
from opbridge.base.safe_open import read_file
from opbridge.build.sources.elf import check_library
from opbridge.build.sources.elf_image import OBJECT, Image

_LINK = "link it into a library: g++ -shared -fPIC"
_KINDS = (
    (b"!<arch>\n", "a static library (an archive of object files)", f"{_LINK} -Wl,--whole-archive FILE -o OUT.so"),
    (b"version https://git-lfs", "a pointer of Git LFS, not the file itself", "git lfs pull"),
    (b"#!", "a script", "name the library that it runs or builds"),
    (b"/* GNU ld script", "a text for the linker that names the library", "name the library that its last line names"),
    (b"PK\x03\x04", "a zip archive, as wheels are", "pip install it, and name the .so that it installs"),
    (b"\x1f\x8b", "a gzip archive", "unpack it: tar -xzf"),
    (b"MZ", "a library or program of Windows", "get the one for Linux"),
    (b"\xcf\xfa\xed\xfe", "a library or program of macOS", "get the one for Linux"),
    (b"<", "a web page or XML", "download the file itself"),
)
_TAG = re.compile(r"\.(cpython-(\d)(\d+)[a-z]*)-")
_VERSION = re.compile(r"(?P<family>[A-Z]+)_(?P<number>\d+(\.\d+)*)$")


def examine(path: Path) -> LibraryReport:
    """Report the problems and the entry points of a library.

    Raises:
        InputError: There is no such file.
    """
    head = _beginning(path)
    report = LibraryReport(str(path))
    if (problem := _no_library(path, head)) is not None:
        report.problems.append(problem)
        return report
    try:
        _examine(Image(path), report)
    except KernelError as error:
        report.problems.append(Problem(str(error), "copy or build it again"))
    return report


def _beginning(path: Path) -> bytes:
    try:
        return read_file(path, limit=64)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except OSError as error:
        where = "; name a file in it" if path.is_dir() else ""
        raise InputError(f"cannot read {path}: {error.strerror}{where}") from None


def _no_library(path: Path, head: bytes) -> Problem | None:
    for beginning, what, cure in _KINDS:
        if head.startswith(beginning):
            return Problem(f"it is {what}, not a shared library", cure)
    if head[:4] != b"\x7fELF" and head and head.isascii() and head.decode().isprintable():
        return Problem("it is a text, not a shared library", "name the library that is built from it")
    if head[:4] == b"\x7fELF" and int.from_bytes(head[16:18], "little") == OBJECT:
        return Problem("it is an object file, not linked yet", f"{_LINK} FILE -o OUT.so")
    try:
        check_library(path)
        if Image(path).is_program:
            return Problem("it is a program, not a shared library", "run it, or link its objects with -shared")
    except KernelError as error:
        return Problem(str(error).removeprefix(f"{path} "), "copy or build it again")
    return None


def _examine(image: Image, report: LibraryReport) -> None:
    report.kind = f"shared library for {image.machine}"
    if image.machine != platform.machine():
        what = f"it is built for {image.machine}, and this machine is {platform.machine()}"
        report.problems.append(Problem(what, "build it on this machine, or get the file for it"))
        report.entry_points += entry_points(image, "")
        return
    in_sources = {path.resolve(): source for source in SOURCES for path in source.libraries}
    found = closure(image, {path.name: path for source in SOURCES for path in source.libraries})
    if found.missing:
        found = closure(image, {name: path for source in SOURCES for name, path in source.brings.items()})
    needed = (in_sources.get(other.path.resolve()) for other in found.needed)
    sources = dict.fromkeys(source for source in needed if source is not None)
    report.problems += map(_missing, found.missing)
    symbols = undefined(image, found.images)
    if found.missing:
        symbols = [symbol for symbol in symbols if any(source.owns(symbol) for source in SOURCES)]
        report.notes.append("only the frameworks' symbols were looked for, as the libraries are missing with others")
    problems, providers = explain(symbols)
    report.problems += problems
    sources |= dict.fromkeys(providers)
    report.problems += _too_new(image, found)
    report.problems += _too_demanding(image, report)
    report.problems += _for_another_python(image)
    report.needs |= _versions(image)
    statements = [source.statement for source in sources]
    report.notes += [
        f"{source.statement} must come before it is loaded: it uses {_named(source)}" for source in sources
    ]
    report.entry_points += entry_points(image, "; ".join(statements))


def _named(source: SymbolSource) -> str:
    return f"{source.title} {source.version}".strip()


def _missing(missing: Missing) -> Problem:
    return Problem(f"{missing.needed_by} needs {missing.library}, which is not here", how_to_get(missing.library))


def _too_new(image: Image, found: Closure) -> list[Problem]:
    """Return a problem for each library here that lacks a needed interface version."""
    problems = []
    for name, versions in image.versions_needed.items():
        # The process uses the copy that the interpreter has loaded, whichever the loader would find.
        here = next((other for other in (*interpreter(), *found.needed) if other.soname == name), None)
        if here is None or not here.versions_defined:
            continue
        if lacking := sorted(set(versions) - here.versions_defined, key=_order):
            newest = max(
                (known for known in here.versions_defined if _same_family(known, lacking[-1])),
                key=_order,
                default="none",
            )
            problems.append(
                Problem(
                    f"it was built on a newer system: it needs {', '.join(lacking)} of {name}, which has {newest} here",
                    "build it on this machine, or on one as old as it, such as a manylinux container",
                )
            )
    return problems


def _same_family(version: str, other: str) -> bool:
    return version.partition("_")[0] == other.partition("_")[0] and _VERSION.match(version) is not None


def _order(version: str) -> tuple[int, ...]:
    found = _VERSION.match(version)
    return tuple(int(part) for part in found["number"].split(".")) if found else ()


def _versions(image: Image) -> dict[str, str]:
    """Return the highest needed version of each family: GLIBC, GLIBCXX, CXXABI."""
    highest: dict[str, str] = {}
    for version in (name for names in image.versions_needed.values() for name in names):
        if (found := _VERSION.match(version)) and _order(version) > _order(highest.get(found["family"], "")):
            highest[found["family"]] = version
    return {family: version.removeprefix(f"{family}_") for family, version in highest.items()}


def _too_demanding(image: Image, report: LibraryReport) -> list[Problem]:
    needed, here = image.x86_level_needed, level_here()
    if image.machine == X86:
        report.needs["CPU"] = "the file does not say" if needed is None else level_name(needed)
    if needed is None or here is None or needed <= here:
        return []
    what = f"it needs a processor of {level_name(needed)}, and this one has {level_name(here)}"
    return [Problem(what, f"build it for this one: -march={level_name(here)}")]


def _for_another_python(image: Image) -> list[Problem]:
    found = _TAG.search(image.path.name)
    here = sysconfig.get_config_var("SOABI") or ""
    if found is None or here.startswith(found[1]):
        return []
    return [
        Problem(
            f"it is for Python {found[2]}.{found[3]}, and this is Python {platform.python_version()}: import skips it",
            "build or install it with this Python",
        )
    ]
