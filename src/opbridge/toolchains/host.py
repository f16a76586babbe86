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
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

from opbridge import floating_point
from opbridge.cache import Cache
from opbridge.errors import ToolchainError
from opbridge.toolchains.identity import compiler, environment, processor
from opbridge.toolchains.model import INCLUDE, VECTOR, BuildRequest, Command, Commands
from opbridge.toolchains.named_files import expanded, named_files

name = "host C++"
suffixes = (".cpp", ".cc", ".cxx", ".C", ".c++", ".c")
"""C is compiled as C++, which is what g++ and PyTorch make of it too."""

PROCESSOR = "OPBRIDGE_MARCH"
"""The variable that names the processor to build for, where results go to machines that have another one."""

OPTIMIZATION = "OPBRIDGE_OPTIMIZE"
"""The variable that lowers the optimization level of kernels, for tests and edits that wait for the compiler."""

_CANDIDATES = ("g++", "clang++")
_SCRIPT, _LIST = "exports.map", "preemptible.list"
_POOL = "_ZN2ob*4poolE; _ZGVN2ob*4poolE;"
_EXPORTS = f"{{ global: {_POOL} local: _Z*; }};\n"
_PREEMPTIBLE = f"{{ {_POOL} }};\n"
"""The only symbol that another library in the process may define in the place of ours."""


def find() -> tuple[str, ...]:
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
    """A `c++` that is a link to g++ as g++, so that those whom CMake tells of the one share what the other built."""
    if Path(executable).name != "c++":
        return executable
    real = os.path.realpath(executable)
    known = filter(None, map(shutil.which, _CANDIDATES))
    # Links to one wrapper, such as ccache, may mean different compilers.
    return next(
        (one for one in known if os.path.realpath(one) == real and Path(one).name in Path(real).name), executable
    )


def identity(request: BuildRequest, cache: Cache) -> tuple[str, ...]:
    native = any(flag.endswith("=native") for flag in (*_chosen_flags(request), *processor_flag(request.portable)))
    return (
        compiler(find(), cache),
        processor() if native else "",
        # The user's debug information names the project's folder, so then its copies cannot share what is built.
        str(request.project) if _has_debug_information(request) else "",
        *files_of_flags(request, *environment_words("CXXFLAGS"), *environment_words("LDFLAGS")),
        *environment(),
    )


def files_of_flags(request: BuildRequest, *words: str) -> tuple[str, ...]:
    """Return the content of what a request's flags, and other words of its commands, name."""
    own = (flag for source in request.sources for flag in request.flags_for(source))
    return named_files((*words, *own, *request.link_flags), request.project)


def commands(request: BuildRequest, folder: Path) -> Commands:
    scratch = folder / "scratch"
    objects = [str(scratch / f"{i}.o") for i in range(len(request.sources))]
    driver = (*find(), *environment_words("CXXFLAGS"))
    shared = (
        *_code_generation(request),
        *_line_tables(request),
        # __FILE__ must not tell one copy of the project from another, for they share what is built.
        *(f"-fmacro-prefix-map={path}/=" for path in (request.project, *request.include_dirs)),
        *(f"-I{path}" for path in request.include_dirs),
        *(f"-D{macro}={value}" if value else f"-D{macro}" for macro, value in request.defines),
    )
    compiles = tuple(
        Command(
            (*driver, *shared, *request.flags_for(source), *files_of(source, target)),
            f"compiling {source.name}",
        )
        for source, target in zip(request.sources, objects, strict=True)
    )
    link = Command(
        (
            *(*driver, "-shared", "-fPIC"),
            # An undefined symbol is an error now, with its name, and not when the library is loaded.
            *("-Wl,-z,defs", "-Wl,--trace", *own_symbols(scratch)),
            # Libraries come behind the objects that need them, or linkers that drop what is unused would drop them.
            *("-o", str(folder / request.output), *objects, *environment_words("LDFLAGS"), *request.link_flags),
        ),
        f"linking {request.output}",
    )
    depfiles = tuple(Path(f"{target}.d") for target in objects)
    return with_own_symbols(Commands(compiles, link, depfiles), scratch)


def own_symbols(scratch: Path) -> tuple[str, ...]:
    """Return the link flags by which a library shows its C functions only, and uses its own functions and variables."""
    return (f"-Wl,--version-script={scratch / _SCRIPT}", f"-Wl,--dynamic-list={scratch / _LIST}")


def with_own_symbols(commands: Commands, scratch: Path) -> Commands:
    """Add the files that `own_symbols` names to the commands."""
    texts = ((scratch / _SCRIPT, _EXPORTS), (scratch / _LIST, _PREEMPTIBLE))
    return replace(commands, texts=texts, exports=scratch / _SCRIPT)


def files_of(source: Path, target: str) -> tuple[str, ...]:
    """The part of a compilation's command that nvcc has too."""
    language = ("-x", "c++") if source.suffix == ".c" else ()
    return ("-c", *language, str(source), "-o", target, "-MD", "-MF", f"{target}.d")


def precompile(request: BuildRequest, header: Path, target: Path) -> Command | None:
    # Paths and macros of one project have no place in what all of them share.
    argv = (
        *find(),
        *environment_words("CXXFLAGS"),
        *_code_generation(request),
        *_that_precompiling_needs(request.flags),
    )
    # Collecting garbage on the way takes g++ longer than having it; clang++ has no such setting, and says so unheard.
    argv = (*argv, "--param", "ggc-min-heapsize=1000000")
    files = ("-x", "c++-header", str(header), "-o", f"{target}.gch", "-MD", "-MF", f"{target}.d")
    return Command((*argv, *files), f"precompiling {target.name}")


def _that_precompiling_needs(flags: tuple[str, ...]) -> tuple[str, ...]:
    """g++ takes a header that was precompiled without -fwrapv where sums wrap around, clang++ does not."""
    return flags if is_clang() else tuple(flag for flag in flags if flag != "-fwrapv")


def compile_header(request: BuildRequest, header: Path, target: Path, macro: str) -> Command:
    """A header of opbridge's own, as kernels of the request are compiled, to an object that they share."""
    argv = (*find(), *_code_generation(request), f"-I{VECTOR}", f"-I{INCLUDE}", f"-D{macro}", "-x", "c++")
    return Command((*argv, *files_of(header, str(target))), f"compiling {target.stem}")


def _code_generation(request: BuildRequest) -> tuple[str, ...]:
    return (
        *(optimization(), f"-std={request.standard}", "-fPIC", "-fvisibility-inlines-hidden"),
        # As these functions are never replaced from outside, they may be inlined and called directly.
        "-fno-semantic-interposition",
        *floating_point.FLAGS,
        *vector_width(),
        *_selections(),
        *("-Wall", "-pipe", "-fdiagnostics-color=never"),
        *processor_flag(request.portable),
    )


def optimization() -> str:
    """Return the option for the optimization level: -O3, or what OPBRIDGE_OPTIMIZE asks for.

    Raises:
        ToolchainError: OPBRIDGE_OPTIMIZE is no level from 0 to 3.
    """
    level = os.environ.get(OPTIMIZATION) or "3"
    if level not in ("0", "1", "2", "3"):
        raise ToolchainError(f"{OPTIMIZATION} is {level!r}; expected 0, 1, 2 or 3, as in -O1")
    return f"-O{level}"


def _line_tables(request: BuildRequest) -> tuple[str, ...]:
    """So that a crash can name its line; the file is called as the user called it, and not by the folder it was in."""
    # What is made for others is small, and a precompiled header fits one kind of debug information.
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
    text = os.environ.get(variable, "")
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ToolchainError(f"{variable} is {text!r}, which a shell would not take either: {error}") from None


def vector_width() -> tuple[str, ...]:
    """Registers as wide as the processor has them: g++ takes half of AVX-512's, for processors that it slowed down.

    A loop of exponentials takes a quarter less time so; where there is no AVX-512, nothing changes.
    """
    is_foreign = os.environ.get(PROCESSOR, "").startswith("arm")
    return ("-mprefer-vector-width=512",) if os.uname().machine == "x86_64" and not is_foreign else ()


def _selections() -> tuple[str, ...]:
    """g++ computes what follows a condition once for each way, and selects of all of it in a vector loop.

    Without that a sigmoid takes two thirds of the time.  clang++ does not, and knows no such flag.
    """
    return ("-fno-thread-jumps",) if "g++" in Path(find()[0]).name and not is_clang() else ()


def is_clang() -> bool:
    return any("clang" in Path(word).name for word in find())


def processor_flag(portable: bool = False) -> tuple[str, ...]:
    """g++ and clang++ agree on a spelling for each architecture, but not across architectures."""
    if portable:
        return ()
    option = "-mcpu" if os.uname().machine in ("aarch64", "arm64") else "-march"
    return (f"{option}={os.environ.get(PROCESSOR) or 'native'}",)
