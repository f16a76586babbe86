"""The host's C++ compiler: g++, else clang++, else what CXX says.

CXXFLAGS and LDFLAGS are respected, before opbridge's own flags: they can add search paths, warnings or sanitizers, but
the -O2 and -march of a packager's environment (conda sets both) do not slow a kernel down.  A request's own flags come
last and win over everything.

A library shows its C functions and keeps its C++ to itself, so that equally named statics, templates and inline
variables of two kernels stay apart (`own_objects` has the rest of it).  The one exception is the thread pool of
opbridge/pool.h, whose unique symbol makes it one for the process; -fno-gnu-unique would undo that.  Hiding by
-fvisibility would also hide the C functions of sources that were written for another host, which name no visibility.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from opbridge.base import floating_point
from opbridge.base.errors import ToolchainError
from opbridge.build.cache import Cache
from opbridge.build.toolchains.files_in_options import expanded, named_files
from opbridge.build.toolchains.interface import INCLUDE, VECTOR, BuildRequest, Command, Commands
from opbridge.build.toolchains.machine_identity import PROCESSOR, compiler, environment, processor, target_machine

name = "host C++"
suffixes = (".cpp", ".cc", ".cxx", ".C", ".c++", ".c")
"""C sources are compiled as C++, as g++ and PyTorch do."""

OPTIMIZATION = "OPBRIDGE_OPTIMIZE"
"""The variable that lowers the optimization level of kernels, for tests and edits that wait for the compiler."""

_OWN_LEVEL = "-O2"
"""The optimization level of opbridge's own libraries, whose loops call functions of their users."""

_LOWER_LEVELS = ("-O1", "-O2")
_LEVEL = re.compile(r"-O(\d|s|g|z|fast)?")

_BASELINE = {"x86_64": ("-march=x86-64",), "aarch64": ("-march=armv8-a",)}
"""What every processor of an architecture runs, also where a distribution's compiler assumes more."""

_CANDIDATES = ("g++", "clang++")
_SCRIPT, _LIST = "exports.map", "preemptible.list"
_POOL = "_ZN2ob*4poolE; _ZGVN2ob*4poolE;"
_EXPORTS = f"{{ global: {_POOL} local: _Z*; }};\n"
_PREEMPTIBLE = f"{{ {_POOL} }};\n"
"""The only symbol that another library in the process may define in place of ours."""


def find() -> tuple[str, ...]:
    """Return the compiler's command, with any arguments from CXX.

    Raises:
        ToolchainError: CXX names a missing compiler, or no compiler is on PATH.
    """
    chosen = environment_words("CXX")
    if chosen:
        if executable := shutil.which(chosen[0]):
            return (_by_its_own_name(executable), *chosen[1:])
        raise ToolchainError(
            f"CXX names the compiler {chosen[0]!r}, which is not on PATH\n"
            f"  correct it, or unset CXX to use {' or '.join(_CANDIDATES)}"
        )
    for candidate in _CANDIDATES:
        if executable := shutil.which(candidate):
            return (executable,)
    raise ToolchainError(
        f"no C++ compiler: expected {' or '.join(_CANDIDATES)} on PATH, or CXX to name one\n"
        "  install one: sudo apt install g++    or: conda install -c conda-forge gxx"
    )


def _by_its_own_name(executable: str) -> str:
    """Return g++ or clang++ for a `c++` that links to it, so that both names share builds.

    CMake often chooses the name `c++`.
    """
    if Path(executable).name != "c++":
        return executable
    real = os.path.realpath(executable)
    known = filter(None, map(shutil.which, _CANDIDATES))
    # Several links to one wrapper, such as ccache, may mean different compilers.
    return next(
        (one for one in known if os.path.realpath(one) == real and Path(one).name in Path(real).name), executable
    )


def identity(request: BuildRequest, cache: Cache) -> tuple[str, ...]:
    """Return the facts that affect a result: compiler, processor (if the code is native to it), environment."""
    native = any(flag.endswith("=native") for flag in (*_chosen_flags(request), *processor_flag(request.portable)))
    return (
        compiler(find(), cache),
        processor() if native else "",
        # Debug information contains the project's folder, so copies of the project cannot share the build.
        str(request.project) if _has_debug_information(request) and request.built_for is None else "",
        *files_of_flags(request, *environment_words("CXXFLAGS"), *environment_words("LDFLAGS")),
        *environment(),
    )


def files_of_flags(request: BuildRequest, *words: str) -> tuple[str, ...]:
    """Return the content of what a request's flags, and other words of its commands, name."""
    own = (flag for source in request.sources for flag in request.flags_for(source))
    return named_files((*words, *own, *request.link_flags), request.project)


def commands(request: BuildRequest, folder: Path) -> Commands:
    """Return the commands that compile each source and link the library, and the file that lists its exports."""
    scratch = folder / "scratch"
    driver = (*find(), *environment_words("CXXFLAGS"))
    shared = (
        *_code_generation(request),
        *_line_tables(request),
        # __FILE__ must be the same in all copies of the project, because they share the build.
        *(f"-fmacro-prefix-map={path}/=" for path in (request.project, *request.include_dirs)),
        *(f"-I{path}" for path in request.include_dirs),
        *(f"-D{macro}={value}" if value else f"-D{macro}" for macro, value in request.defines),
    )
    link = (
        *(*driver, "-shared", "-fPIC"),
        # Report an undefined symbol by name now, not when the library is loaded.
        *("-Wl,-z,defs", "-Wl,--trace", *own_symbols(scratch)),
        # Libraries must follow the objects that need them: linkers drop libraries that nothing needs yet.
        *("-o", str(folder / request.output), *objects_of(request, scratch)),
        *(*environment_words("LDFLAGS"), *request.link_flags),
    )

    def words_for(source: Path) -> tuple[str, ...]:
        return (*driver, *_at_last_level((*shared, *request.flags_for(source))))

    return commands_of(request, scratch, words_for, link)


def objects_of(request: BuildRequest, scratch: Path) -> list[str]:
    """Return the object of each source."""
    return [str(scratch / f"{i}.o") for i in range(len(request.sources))]


def commands_of(
    request: BuildRequest,
    scratch: Path,
    words_for: Callable[[Path], tuple[str, ...]],
    link_words: tuple[str, ...],
) -> Commands:
    """Return the commands of a build from the words that compile each source and from those of the link."""
    objects = objects_of(request, scratch)
    compiles = tuple(
        Command(
            (*words_for(source), *files_of(source, target)),
            f"compiling {source.name}",
        )
        for source, target in zip(request.sources, objects, strict=True)
    )
    link = Command(link_words, f"linking {request.output}")
    return with_own_symbols(Commands(compiles, link, tuple(Path(f"{target}.d") for target in objects)), scratch)


def _at_last_level(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words without optimization levels that a later one replaces, so that no cache key contains them."""
    levels = [place for place, word in enumerate(words) if _LEVEL.fullmatch(word)]
    return tuple(word for place, word in enumerate(words) if place not in levels[:-1])


def own_symbols(scratch: Path) -> tuple[str, ...]:
    """Return the link flags by which a library shows its C functions only, and uses its own functions and variables."""
    return (f"-Wl,--version-script={scratch / _SCRIPT}", f"-Wl,--dynamic-list={scratch / _LIST}")


def with_own_symbols(commands: Commands, scratch: Path) -> Commands:
    """Add the files that `own_symbols` names to the commands."""
    texts = ((scratch / _SCRIPT, _EXPORTS), (scratch / _LIST, _PREEMPTIBLE))
    return replace(commands, texts=texts, exports=scratch / _SCRIPT)


def files_of(source: Path, target: str) -> tuple[str, ...]:
    """Return the part of a compile command that nvcc shares: the source, the object and the depfile."""
    language = ("-x", "c++") if source.suffix == ".c" else ()
    return ("-c", *language, str(source), "-o", target, "-MD", "-MF", f"{target}.d")


def precompile(request: BuildRequest, header: Path, target: Path) -> Command | None:
    """Return the command to precompile `header` into `target`.gch, with a depfile, without project paths or macros."""
    # All projects share the precompiled header, so the paths and macros of one project must stay out.
    argv = (
        *find(),
        *environment_words("CXXFLAGS"),
        *_code_generation(request),
        *_that_precompiling_needs(request.flags),
    )
    # g++ is faster without garbage collection here. clang++ has no such setting; its warning is discarded.
    argv = (*map(_at_one_level, argv), "--param", "ggc-min-heapsize=1000000")
    files = ("-x", "c++-header", str(header), "-o", f"{target}.gch", "-MD", "-MF", f"{target}.d")
    return Command((*argv, *files), f"precompiling {target.name}")


def macros() -> tuple[tuple[str, str], ...]:
    """Return no macros: kernels are compiled as they are."""
    return ()


def companions() -> tuple[Path, ...]:
    """Return no libraries: a library of kernels stands alone."""
    return ()


def sources_for_torch(texts: Sequence[str]) -> tuple[Path, ...]:
    """Return no sources: the installed PyTorch is the one that kernels are for."""
    return ()


def as_edited(source: Path, command: Command) -> tuple[str, ...]:
    """Return the compile command, which names the source as the user wrote it."""
    return command.argv


def _that_precompiling_needs(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the flags for precompiling, without -fwrapv for g++.

    g++ accepts such a header in sources compiled with -fwrapv; clang++ does not.
    """
    return flags if is_clang() else tuple(flag for flag in flags if flag != "-fwrapv")


def _at_one_level(word: str) -> str:
    """Return -O3 for a lower level: a header precompiled there fits sources of every level but -O0."""
    return "-O3" if word in _LOWER_LEVELS else word


def compile_header(request: BuildRequest, header: Path, target: Path, macro: str) -> Command:
    """Return the command that compiles an opbridge header to an object that such kernels share."""
    argv = (*find(), *_code_generation(request), f"-I{VECTOR}", f"-I{INCLUDE}", f"-D{macro}", "-x", "c++")
    return Command((*argv, *files_of(header, str(target))), f"compiling {target.stem}")


def _code_generation(request: BuildRequest) -> tuple[str, ...]:
    return (
        *(_level(request), f"-std={request.standard}", "-fPIC", "-fvisibility-inlines-hidden"),
        # Nothing replaces these functions from outside, so they may be inlined and called directly.
        "-fno-semantic-interposition",
        *floating_point.FLAGS,
        *vector_width(),
        *_selections(),
        *("-Wall", "-pipe", "-fdiagnostics-color=never"),
        *(_BASELINE.get(target_machine(), ()) if request.built_for is not None else processor_flag(request.portable)),
    )


def _level(request: BuildRequest) -> str:
    """Return the option for the optimization level of a request."""
    return _OWN_LEVEL if request.built_for is not None else optimization()


def optimization() -> str:
    """Return the option for the optimization level: -O3, or what OPBRIDGE_OPTIMIZE asks for.

    Raises:
        ToolchainError: OPBRIDGE_OPTIMIZE is not a level from 0 to 3.
    """
    level = os.environ.get(OPTIMIZATION) or "3"
    if level not in ("0", "1", "2", "3"):
        raise ToolchainError(f"{OPTIMIZATION} is {level!r}; expected 0, 1, 2 or 3, as in -O1")
    return f"-O{level}"


def _line_tables(request: BuildRequest) -> tuple[str, ...]:
    """Return flags that let a crash report name its source line, with file names relative to the user's project."""
    if request.built_for is not None:
        return (f"-fdebug-prefix-map={request.project}=opbridge",)
    # Keep portable libraries small. A precompiled header fits only one kind of debug information.
    if request.portable or request.library or _has_debug_information(request):
        return ()
    names = (f"-fdebug-prefix-map={path}={path.name}" for path in request.include_dirs)
    return ("-g1", f"-fdebug-prefix-map={request.project}=.", *names)


def _has_debug_information(request: BuildRequest) -> bool:
    return any(flag.startswith("-g") for flag in _chosen_flags(request))


def _chosen_flags(request: BuildRequest) -> tuple[str, ...]:
    """Return those of the user, and of the project."""
    own = (flag for source in request.sources for flag in request.flags_for(source))
    return tuple(expanded((*environment_words("CXXFLAGS"), *own), request.project))


def environment_words(variable: str) -> list[str]:
    """Return an environment variable split into words as a shell would.

    Raises:
        ToolchainError: The quotes in the value do not match.
    """
    text = os.environ.get(variable, "")
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ToolchainError(f"{variable} is {text!r}, which a shell would not take either: {error}") from None


def vector_width() -> tuple[str, ...]:
    """Return the flag that makes g++ use the full width of the vector registers.

    By default g++ uses half of AVX-512, for older processors that wide registers slowed down. With the flag, a
    loop of exponentials takes a quarter less time. Without AVX-512 it changes nothing.
    """
    return ("-mprefer-vector-width=512",) if target_machine() == "x86_64" else ()


def _selections() -> tuple[str, ...]:
    """Return the flag that keeps g++ from duplicating the code after a condition, so that a vector loop selects once.

    With it a sigmoid takes two thirds of the time. clang++ does not duplicate the code and does not know the flag.
    """
    return ("-fno-thread-jumps",) if "g++" in Path(find()[0]).name and not is_clang() else ()


def is_clang() -> bool:
    """Return whether the host compiler is clang."""
    return any("clang" in Path(word).name for word in find())


def processor_flag(portable: bool = False) -> tuple[str, ...]:
    """Return the flag that selects the target processor; none if `portable`.

    g++ and clang++ use the same option on one architecture, but the option differs between architectures.
    """
    if portable:
        return ()
    option = "-mcpu" if os.uname().machine in ("aarch64", "arm64") else "-march"
    return (f"{option}={os.environ.get(PROCESSOR) or 'native'}",)
