"""Explain compiler and linker errors to the user: the user's own line first, library internals left out."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opbridge.base.excerpts import caret, shown
from opbridge.build.toolchains.compiler_processes import Outcome

_ERRORS_SHOWN = 5
_NOTES_SHOWN = 2
_NOTE_LENGTH = 200

_HEAD = re.compile(
    r"^(?P<file>[^\s:][^:\n]*?)(?::(?P<line>\d+):(?:(?P<column>\d+):)?|\((?P<nvcc_line>\d+)\):) "
    r"(?P<kind>(?:fatal )?error|warning|note)(?: #\d+(?:-D)?)?: "
)
_CONTEXT = re.compile(r"(?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::(?P<column>\d+))?[:,]?")
_KILLED = re.compile(
    r"(?:(\w[\w ]*) signal terminated program (\S+)|virtual memory exhausted|out of memory allocating)"
)
_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:) [`'‘\"]?(.+?)['’\"]?$", re.MULTILINE)
_NO_LIBRARY = re.compile(r"(?:cannot find -l|unable to find library -l)(\S+?):?(?: |$)", re.MULTILINE)
_TWICE = re.compile(r"multiple definition of [`'‘](.+?)['’]|duplicate symbol: (.+)$", re.MULTILINE)

_MACRO_NOTES = ("in expansion of macro", "in definition of macro", "expanded from macro")
_KERNEL_HEADER = "put #include <opbridge/kernel.h> at the top of the file"
_HINTS = (
    (
        re.compile(r"C\+\+\d+ or later compatible compiler is required"),
        "leave -std=… out of the flags, an older one than the library's headers are written in",
    ),
    (
        re.compile(r"fatal error: .?(c10/cuda/impl/cuda_cmake_macros|cublas|cublasLt|cufft|cusolverDn|cusparse)\.h"),
        "PyTorch's CUDA headers need a PyTorch built with CUDA, and the whole CUDA toolkit; tensors alone do not: "
        "include <torch/extension.h>, and ms_ext.h for torch_stream_guard",
    ),
    (
        re.compile(r"fatal error: .?(torch|ATen|c10|pybind11)/"),
        "install PyTorch where opbridge is: pip install torch; its headers are found for a source that includes one "
        "by a plain #include line",
    ),
    (re.compile(r"fatal error: .?Python\.h"), "Python's headers are missing: sudo apt install python3-dev"),
    (re.compile(r"fatal error: .?(cuda|cuda_runtime)\.h"), "nvcc has this header: opbridge compile NAME.cu NAME.so"),
    (
        re.compile(r"fatal error: .?(kernel_operator|tikicpulib|acl/acl)\.h"),
        'this is Ascend C: load it with device="ascend-twin", which runs it on the CPU, or name it for `npu`',
    ),
    (re.compile(r"fatal error: .?opbridge/"), "what kernels include is <opbridge/kernel.h>"),
    (
        re.compile(r"fatal error: "),
        "put it next to the kernel, install its package, or name its folder: export CXXFLAGS=-I/the/folder",
    ),
    (re.compile(r"['‘]ob['’] (has not been|was not|is not a)|undeclared identifier 'ob'"), _KERNEL_HEADER),
    (re.compile(r"unknown type name 'OB_KERNEL'"), _KERNEL_HEADER),
    (
        re.compile(
            r"['‘]std::\w+['’] (has not been|was not|does not)|['‘]\w+['’] (in namespace|is not a member of) ['‘]std"
        ),
        "#include the standard header that has this name: opbridge/kernel.h includes none",
    ),
    (
        re.compile(r"read-only location.*ob::In<|cannot assign to return value.*const"),
        "an ob::In is for reading: take a tensor that the kernel writes as ob::Out, or as ob::InOut",
    ),
    (
        re.compile(r"['‘]T['’] was not declared|unknown type name 'T'|undeclared identifier 'T'"),
        "write template <class T> above the kernel",
    ),
)
_KERNEL_MACRO_ALONE = re.compile(
    r"expected (constructor, destructor, or type conversion|parameter declarator)|requires a type specifier|"
    r"ISO C\+\+ forbids declaration of ['‘]OB_KERNEL"
)
_NAMED = re.compile(r"& ?(\w+)[’']|OB_KERNEL\((\w+)")
_NO_TYPES = re.compile(r"unable to deduce|incompatible initializer|could not be resolved")
_NO_SUCH_TYPE = re.compile(
    r"['‘](\w[\w:]*)['’] (?:was not declared|is not a member|does not name)|undeclared identifier"
)


@dataclass(frozen=True)
class Project:
    """The user's own files, where an error can be fixed."""

    root: Path
    sources: tuple[Path, ...]
    include_dirs: tuple[Path, ...]

    def owns(self, file: str) -> bool:
        """Return whether a file name in a message, relative to the root, is inside the user's folders."""
        path = Path(os.path.normpath(self.root / file))
        return any(path.is_relative_to(folder) for folder in (self.root, *self.include_dirs))


@dataclass(frozen=True)
class _Place:
    file: str
    line: int
    column: int

    def excerpt(self, root: Path) -> list[str]:
        """Return the source line and a caret, for messages in which the compiler shows neither."""
        try:
            text = (root / self.file).read_text(encoding="utf-8", errors="replace").splitlines()[self.line - 1]
        except (OSError, IndexError):
            return []
        margin = f"{self.line:5} | "
        lines = [margin + shown(text)]
        if self.column:
            lines.append(f"{' ' * (len(margin) - 2)}| {caret(text, self.column)}")
        return lines


@dataclass
class _Diagnostic:
    kind: str
    place: _Place
    message: str
    context: list[str]
    """The lines before the message: the includes and calls that led to it."""
    excerpt: list[str] = field(default_factory=list)
    notes: list[_Diagnostic] = field(default_factory=list)


def explain(outcome: Outcome, project: Project) -> str:
    """Return the error text for a run that failed."""
    about, said = outcome.command.about, outcome.stderr
    if outcome.timed_out:
        return f"{about} took too long and was ended; OPBRIDGE_BUILD_TIMEOUT sets the seconds it may take"
    if outcome.code < 0 or _KILLED.search(said):
        return _ended_by_signal(outcome)
    errors = [found for found in _parse(said) if found.kind.endswith("error")]
    if not errors:
        return _explain_link(about, said) or f"{about} failed with exit code {outcome.code}:\n{_indented(_tail(said))}"
    if errors[0].message.startswith("#error "):
        # A header rejects the compiler or its flags; all other errors follow from that.
        errors = errors[:1]
    shown = _first_of_each_line(errors, project)
    if len(shown) > _ERRORS_SHOWN:
        shown = [*shown[:_ERRORS_SHOWN], f"... and {len(shown) - _ERRORS_SHOWN} more"]
    if "internal compiler error" in said:
        shown.append("  this is a fault of the compiler: try another version, or CXX=clang++")
    hints = dict.fromkeys(hint for error in errors if (hint := _hint(error, project)))
    return "\n".join((*shown, *(f"  hint: {hint}" for hint in hints)))


def _ended_by_signal(outcome: Outcome) -> str:
    found = _KILLED.search(outcome.stderr)
    if outcome.code < 0:
        what = f"it was ended by {signal.Signals(-outcome.code).name}"
    else:
        what = found.group().strip() if found else "it was ended by a signal"
    out_of_memory = outcome.code == -signal.SIGKILL or (found and found.group(1) in (None, "Killed"))
    advice = (
        "the machine or container probably ran out of memory: build with fewer jobs, or allow it more memory"
        if out_of_memory
        else "this is a fault of the compiler or of the machine: try again, then another compiler version"
    )
    return f"{outcome.command.about} did not finish: {what}\n  {advice}"


def _parse(said: str) -> list[_Diagnostic]:
    found: list[_Diagnostic] = []
    context: list[str] = []
    last: _Diagnostic | None = None
    for line in said.splitlines():
        head = _HEAD.match(line)
        if head:
            place = _Place(head["file"], int(head["line"] or head["nvcc_line"]), int(head["column"] or 0))
            last = _Diagnostic(head["kind"], place, line[head.end() :], context)
            if last.kind == "note" and found:
                found[-1].notes.append(last)
            else:
                found.append(last)
            context = []
        elif last and re.match(r"\s*\d* \|", line):
            last.excerpt.append(line)
        else:
            context.append(line)
    return found


def _first_of_each_line(errors: list[_Diagnostic], project: Project) -> list[str]:
    """Return the errors as text, one for each source line.

    Later errors on the same line, inside a library or for another T, are consequences.
    """
    placed = [
        (error, error.place if project.owns(error.place.file) else _users_place(error, project)) for error in errors
    ]
    mendable = [(error, place) for error, place in placed if place is not None]
    shown: dict[tuple[str, int], str] = {}
    for error, place in mendable or [(error, error.place) for error in errors]:
        shown.setdefault((place.file, place.line), _render(error, place, project))
    return list(shown.values())


def _render(error: _Diagnostic, place: _Place, project: Project) -> str:
    where = ":".join(str(part) for part in (place.file, place.line, place.column) if part)
    lines = [f"{_bold(where)}: {_red(error.kind)}: {error.message}"]
    if place is error.place:
        lines += error.excerpt or place.excerpt(project.root)
    else:
        lines += [f"  found in {error.place.file}:{error.place.line}", *place.excerpt(project.root)]
    useful = [
        note for note in error.notes if project.owns(note.place.file) and not note.message.startswith(_MACRO_NOTES)
    ]
    lines += [
        f"  note: {_clipped(note.message)} ({note.place.file}:{note.place.line})" for note in useful[:_NOTES_SHOWN]
    ]
    return "\n".join(lines)


def _users_place(error: _Diagnostic, project: Project) -> _Place | None:
    """Return the innermost user line that led to an error: the call, include or macro expansion."""
    steps = [
        _Place(found["file"], int(found["line"]), int(found["column"] or 0))
        for line in error.context
        if (found := _CONTEXT.search(re.sub(r"^\s*(In file included )?from ", "", line)))
    ]
    steps += [note.place for note in error.notes if note.message.startswith(_MACRO_NOTES)]
    own = [step for step in steps if project.owns(step.file)]
    called = [step for step in own if step.column]
    return next(reversed(called or own), None)


def _hint(error: _Diagnostic, project: Project) -> str | None:
    text = f"{error.kind}: {error.message}"
    at_macro = any("OB_KERNEL" in line for line in (*error.excerpt, *(note.message for note in error.notes)))
    if at_macro and _KERNEL_MACRO_ALONE.search(text):
        return _KERNEL_HEADER
    if at_macro and _NO_TYPES.search(text):
        return _which_function(error, project)
    if at_macro and (found := _NO_SUCH_TYPE.search(text)):
        if any(f"OB_KERNEL({found[1]}" in line for line in error.excerpt):
            return "OB_KERNEL takes the name of the function above it, then the types of its template"
        return "after its name OB_KERNEL takes C++ types: float, double, int64_t, bool, ob::half, ob::bfloat16, ..."
    return next((hint for pattern, hint in _HINTS if pattern.search(text)), None)


def _which_function(error: _Diagnostic, project: Project) -> str:
    """Return a hint about why the name in OB_KERNEL does not identify one function."""
    found = _NAMED.search("\n".join([error.message, *error.excerpt]))
    place = _users_place(error, project) or error.place
    try:
        text = (project.root / place.file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    name = (found[1] or found[2]) if found else ""
    heads = (
        [re.split(r"[;{}]", text[: use.start()])[-1] for use in re.finditer(rf"\b{name}\s*\(", text)] if name else []
    )
    if not heads or any(re.search(r"\btemplate\b", head) for head in heads):
        return "a template needs its types: OB_KERNEL(name, float, double)"
    return (
        f"there is more than one function {name}, and a header may have declared the other: give the kernel a name of "
        f"its own, and where an operator is to be called {name} all the same, its manifest says `FILE:that_name`"
    )


def _explain_link(about: str, said: str) -> str | None:
    missing = dict.fromkeys(_UNDEFINED.findall(said))
    libraries = dict.fromkeys(_NO_LIBRARY.findall(said))
    twice = dict.fromkeys(first or second for first, second in _TWICE.findall(said))
    lines = [
        *(f"undefined symbol: {symbol}" for symbol in _demangled(tuple(missing))),
        *(f"library not found: {library} (-l{library})" for library in libraries),
        *(f"defined twice: {symbol}" for symbol in _demangled(tuple(twice))),
    ]
    if not lines:
        return None
    hidden = any("get_torch_tensors" in symbol for symbol in missing)
    hints = (
        (hidden, "opbridge's ms_ext.h defines it: remove the other ms_ext.h, which is found first"),
        (missing and not hidden, "define it in this file, or name the library that defines it: export LDFLAGS=-lNAME"),
        (libraries, "install the library, or name its folder: export LDFLAGS=-L/the/folder"),
        (twice, "keep one definition, or make it static or inline"),
    )
    return "\n".join(
        (f"{about} failed", *map("  {}".format, lines), *(f"  hint: {text}" for found, text in hints if found))
    )


def _demangled(symbols: Sequence[str]) -> Sequence[str]:
    """Return the symbols demangled with c++filt: not every linker demangles all of them."""
    import shutil
    import subprocess

    mangled = [symbol for symbol in symbols if symbol.startswith("_Z")]
    if not mangled or not (tool := shutil.which("c++filt")):
        return symbols
    done = subprocess.run([tool, *mangled], capture_output=True, text=True).stdout.splitlines()
    plain = dict(zip(mangled, done, strict=False))
    return [plain.get(symbol, symbol) for symbol in symbols]


def _tail(said: str) -> str:
    return "\n".join(said.strip().splitlines()[-20:]) or "it said nothing"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _clipped(text: str) -> str:
    return text if len(text) <= _NOTE_LENGTH else f"{text[:_NOTE_LENGTH]}..."


def _bold(text: str) -> str:
    return _coloured("1", text)


def _red(text: str) -> str:
    return _coloured("1;31", text)


def _coloured(code: str, text: str) -> str:
    on = sys.stderr is not None and sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    return f"\033[{code}m{text}\033[0m" if on else text
