"""Execute an nvcc command line: rewrite, compile and link, and write the same files as nvcc."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge import _version
from opbridge.base import floating_point
from opbridge.base.errors import InputError
from opbridge.base.progress import carried, show
from opbridge.build.cache import Cache
from opbridge.build.toolchains import host
from opbridge.build.toolchains.interface import INCLUDE as OPBRIDGE_INCLUDE
from opbridge.twins import cuda
from opbridge.twins.common.depfiles import add_dependencies
from opbridge.twins.common.message_columns import Columns, with_users_columns
from opbridge.twins.cuda import cccl, rewritten_headers
from opbridge.twins.cuda import toolchain as cuda_twin
from opbridge.twins.cuda.compiler_command import AS_NVCC_READS
from opbridge.twins.cuda.missing_headers import unsupported
from opbridge.twins.cuda.nvcc import checked_kernels, images, prelude
from opbridge.twins.cuda.nvcc.command_line import Source, Words, parse
from opbridge.twins.cuda.nvcc.header_folders import rewritten_folders
from opbridge.twins.cuda.nvcc.toolkit import INCLUDE, LIBRARIES, RELEASE, library_of
from opbridge.twins.cuda.unique_symbols import SEVERAL, make_own

CHECKS = os.environ.get("OPBRIDGE_TWIN_CHECKS") != "0"
_BLOCKS = "ob_twin_check_blocks"
"""The variable that the twin's library looks for."""
_TWICE = ("-DOPBRIDGE_TWIN_TWICE=1",)
"""Tells the headers that the source is compiled twice, with checks and without."""
_DIGITS = 4
"""The digits of a number of threads that a machine may have."""
_TO_OBJECT = ("-c", "-dc", "-dw")
_TO_TEXT = ("-E", "-M", "-MM")


def run(arguments: Sequence[str], home: Path, called: Mapping[Path, str] | None = None) -> int:
    """Execute an nvcc command line and return the exit code that nvcc would return.

    Args:
        home: The folder that replaces an installed CUDA.
        called: The names by which compilers, debuggers and reports refer to files.

    Raises:
        InputError: The command line is invalid or asks for something that the twin does not support.
    """
    words = parse(arguments)
    if "-V" in words.switches:
        print(_version_text())
        return 0
    if not words.sources and not words.link:
        raise InputError("nvcc: no input files", hint="as in: opbridge twin nvcc -O2 main.cu -o main")
    with tempfile.TemporaryDirectory(prefix="opbridge-nvcc-") as scratch:
        return _Build(words, home, Path(scratch), called or {}).run()


def _name_unit(source: Path, unit: str) -> None:
    """Write a name into the source that no other has; the twin's library uses it to find the kernels with checks."""
    text = source.read_text(errors="surrogateescape")
    name = f'namespace opbridge_twin {{ namespace {{ extern const char unit[] = "{unit}"; }} }}'
    source.write_text(f"{name}\n{text}", errors="surrogateescape")


def _version_text() -> str:
    """Return nvcc's version text; build systems search the first line and the last but one."""
    return (
        "nvcc: NVIDIA (R) Cuda compiler driver\n"
        f"In its place: the CUDA twin of opbridge {_version.__version__}, which compiles for this machine's processor\n"
        f"Cuda compilation tools, release {RELEASE}, V{RELEASE}.0\n"
        f"Build opbridge_{_version.__version__}"
    )


class _StopMetError(Exception):
    """A compiler that has read stops in place of headers; it must run again once they are rewritten."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


@dataclass
class _Build:
    words: Words
    home: Path
    scratch: Path
    called: Mapping[Path, str]

    def run(self) -> int:
        self._announce()
        with Cache().step(self._about):
            return self._run()

    @property
    def _about(self) -> str:
        """What the progress message says."""
        names = [source.path.name for source in self.words.sources]
        if not names:
            return f"linking {self.words.switches.get('-o') or 'by the CUDA twin'}"
        return f"compiling {names[0] if len(names) == 1 else f'{len(names)} sources'} by the CUDA twin"

    def _run(self) -> int:
        phase, output = self.words.phase, self.words.switches.get("-o")
        if phase in _TO_TEXT:
            return self._each(lambda source, _: self._text(source, phase), self.words.sources)
        if phase in _TO_OBJECT:
            if output and len(self.words.sources) > 1:
                raise InputError("nvcc -c with -o takes one source")
            return self._each(lambda source, _: self._object(source, self._object_file(source)), self.words.sources)
        if phase in images.SUFFIXES:
            if output and len(self.words.sources) > 1:
                raise InputError(f"nvcc {phase} with -o takes one source")
            return self._each(lambda source, _: self._image(source), self.words.sources)
        if phase == "-dlink":
            return self._empty_object(Path(output or "a_dlink.o"))
        objects = [self.scratch / f"{i}_{source.path.stem}.o" for i, source in enumerate(self.words.sources)]
        if code := self._each(lambda source, i: self._object(source, objects[i]), self.words.sources):
            return code
        if phase == "-lib":
            return self._call(["ar", "rcs", output or "a.a", *map(str, objects), *self._files_to_link()])
        program = Path(output or ("a.so" if self.words.shared else "a.out"))
        code = self._link(objects, program)
        return code or (self._call([os.path.abspath(program)]) if phase == "-run" else 0)

    def _each(self, step: Callable[[Source, int], int], sources: Sequence[Source]) -> int:
        """Run a step for every source, as many at a time as -t says; return the first exit code that is not 0."""
        with ThreadPoolExecutor(self._threads()) as pool:
            codes = pool.map(carried(step), sources, range(len(sources)))
            return next((code for code in codes if code), 0)

    def _threads(self) -> int:
        said = self.words.switches.get("-t") or "1"
        if not said.isdecimal() or len(said) > _DIGITS:
            raise InputError(f"nvcc -t {said}: expected how many sources are compiled at a time, 0 for all processors")
        return int(said) or os.cpu_count() or 1

    # One source ------------------------------------------------------------------------------------------------------

    def _object_file(self, source: Source) -> Path:
        if output := self.words.switches.get("-o"):
            return Path(output)
        return Path(self.words.switches.get("-odir", "")) / f"{source.path.stem}.o"

    def _object(self, source: Source, target: Path) -> int:
        if not source.path.is_file():
            raise InputError(f"nvcc: {source.path}: no such file")
        depfile = self._depfile(target)
        dependencies = []
        if depfile:
            flag = "-MD" if "-MD" in self.words.switches else "-MMD"
            dependencies = [flag, "-MF", str(depfile), "-MT", self.words.switches.get("-MT", str(target))]
            dependencies += ["-MP"] if "-MP" in self.words.switches else []
        return self._compile(source, [*dependencies, "-c", "-o", str(target)], depfile)

    def _image(self, source: Source) -> int:
        """Compile a source to an image for the driver API; it contains only device code, whatever the file's suffix."""
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        made, library = folder / f"{source.path.stem}.o", folder / "image.so"
        link = [*self._compiler(), *images.LINK, str(made), "-o", str(library)]
        code = self._object(replace(source, language="cu"), made) or self._call(link)
        if code == 0 and library.is_file():
            self._image_file(source).write_text(images.image_of(library))
        return code

    def _image_file(self, source: Source) -> Path:
        name = f"{source.path.stem}{images.SUFFIXES[self.words.phase]}"
        return Path(self.words.switches.get("-o") or Path(self.words.switches.get("-odir", "")) / name)

    def _depfile(self, target: Path) -> Path | None:
        named = self.words.switches.get("-MF")
        asked = {"-MD", "-MMD"} & self.words.switches.keys()
        return Path(named) if named else target.with_suffix(".d") if asked else None

    def _text(self, source: Source, phase: str) -> int:
        """Print or write a text instead of compiling: the preprocessed source, or its dependencies."""
        output = self.words.switches.get("-o") or self.words.switches.get("-MF")
        made = self.scratch / "text"
        target = self.words.switches.get("-MT") or f"{source.path.stem}.o"
        about = ["-MT", target] if phase != "-E" else []
        code = self._compile(source, [phase, *about, "-o", str(made)], made if phase != "-E" else None)
        if code == 0:
            text = made.read_text(errors="surrogateescape")
            Path(output).write_text(text, errors="surrogateescape") if output else print(text, end="")
        return code

    def _compile(self, source: Source, ending: Sequence[str], depfile: Path | None) -> int:
        if source.language != "cu":
            plain = ["-x", source.language, *self._host_flags(source.language), f"-isystem{INCLUDE}"]
            return self._call([*self._compiler(), *plain, *ending, str(source.path)])
        headers = rewritten_headers.Cccl()
        while True:
            try:
                return self._compile_cuda(source, ending, depfile)
            except _StopMetError as stopped:
                if not headers.has_more(stopped.said):
                    sys.stderr.write(stopped.said)
                    return 1

    def _compile_cuda(self, source: Source, ending: Sequence[str], depfile: Path | None) -> int:
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        folders = rewritten_folders(self.words.host)
        has_cccl, is_image = cccl.find() is not None, self.words.phase in images.SUFFIXES
        translation = cuda.translate(
            source.path.resolve(),
            folder,
            folders,
            has_cccl=has_cccl,
            is_program=True,
            is_image=is_image,
            called=self.called,
        )
        # Search quoted names that rewriting did not change next to the source, not next to its copy.
        rest = [f"-iquote{source.path.resolve().parent}", str(translation.source)]
        if "-c" in ending and CHECKS:
            code = self._with_checks(source.path.resolve(), rest, ending, folder, translation)
        else:
            code = self._call([*self._cuda_compiler(translation.source, CHECKS), *rest, *ending], translation.columns)
        if code == 0 and depfile:
            add_dependencies(depfile, translation.read, folder)
        # An image is never linked to another source, and its variables are found by their symbols.
        is_alone = is_image or self.words.relocatable
        if code == 0 and "-c" in ending and not is_alone and "-dryrun" not in self.words.switches:
            make_own(Path(ending[-1]), translation.own_functions, translation.own_variables)
        return code

    def _with_checks(
        self,
        source: Path,
        rest: Sequence[str],
        ending: Sequence[str],
        folder: Path,
        translation: cuda.Translation,
    ) -> int:
        """Compile a source without checks and with them at the same time, and join the two objects."""
        target, columns = Path(ending[-1]), translation.columns
        device_functions = translation.device_functions
        if "-G" not in self.words.switches:
            unit = hashlib.sha1(repr((str(source), target.name, self.words.host)).encode()).hexdigest()[:16]
            plain, checked = folder / "plain.o", folder / "checked.o"
            _name_unit(translation.source, unit)
            of_host = self._cuda_compiler(translation.source, False, *cuda.PLACES, *_TWICE)
            of_checks = self._cuda_compiler(translation.source, True, *self._apart(), *_TWICE)
            commands = (
                [*of_host, *rest, *ending[:-1], str(plain)],
                [*of_checks, *rest, "-w", "-c", "-o", str(checked)],
            )
            if "-dryrun" not in self.words.switches and not device_functions:
                # The source may be host code only and need no second compilation, or launch kernels from headers.
                if (code := self._call(commands[0], columns)) or not checked_kernels.launches(plain):
                    return code or self._call(["ld", "-r", str(plain), "-o", str(target)])
                code = self._call(commands[1], messages=subprocess.DEVNULL) and self._call_whole(commands[1], columns)
            else:
                code = self._call_both(*commands, columns)
            if code or "-dryrun" in self.words.switches:
                return code
            assembler = [*self._compiler(), "-x", "assembler", "-c"]
            joined = checked_kernels.join(self._call, plain, checked, target, unit, assembler, device_functions)
            if joined is not None:
                return joined
        code = self._call([*self._cuda_compiler(translation.source, True), *rest, *ending], columns)
        return code or checked_kernels.replacing_copies(self._call, target)

    def _apart(self) -> list[str]:
        """Return flags for one section per function and variable, without process-wide unique symbols."""
        return ["-ffunction-sections", "-fdata-sections", *([] if self._is_clang() else ["-fno-gnu-unique"])]

    def _is_clang(self) -> bool:
        return "clang" in Path(self._compiler()[0]).name

    def _cuda_compiler(self, source: Path, checks: bool, *besides: str) -> list[str]:
        """Return the compile command for a source, up to the source's own arguments."""
        driver, own, given = self._compiler(), [*self._cuda_flags(checks), *besides], self._host_flags("c++")
        if checks and not self._counts:
            given = list(cuda.without_level(given))
        first: tuple[str, ...] = prelude.AS_TEXT
        if self.words.phase not in _TO_TEXT and "-dryrun" not in self.words.switches and not self._is_clang():
            first = prelude.precompiled(source, driver, own, given)
        return [*driver, *own, *given, "-x", "c++", *first]

    def _compiler(self) -> list[str]:
        chosen = self.words.switches.get("-ccbin")
        if not chosen:
            return list(host.find())
        return [str(Path(chosen) / "g++") if Path(chosen).is_dir() else chosen]

    def _cuda_flags(self, checks: bool) -> list[str]:
        flags = [
            "-O3",
            *host.processor_flag(),
            *host.vector_width(),
            *cuda.flags(checks, self._is_clang(), checks and self._counts),
            f"-isystem{OPBRIDGE_INCLUDE}",
            *rewritten_headers.of_cccl(),
        ]
        if "-G" in self.words.switches:
            flags.append("-O0")
        if not self._is_clang():
            flags += AS_NVCC_READS
        if self.words.phase in images.SUFFIXES:
            flags += images.FLAGS
        if self.words.relocatable:
            flags.append(f"-D{SEVERAL}=1")
        if self.words.switches.get("-fmad") == "false":
            flags.append("-ffp-contract=off")
        return flags if any(word.startswith("-std") for word in self.words.host) else [*flags, "-std=c++17"]

    def _host_flags(self, language: str) -> list[str]:
        debug = ["-g"] if {"-g", "-G"} & self.words.switches.keys() else []
        # nvcc optimizes kernels fully, whatever level the command line gives for host code.
        given = [word for word in self.words.host if not (word.startswith("-O") and "-G" in self.words.switches)]
        if language == "c":
            given = [word for word in given if not word.startswith("-std=c++")]
        position = ["-fPIC"] if self.words.shared else []
        return [*debug, *position, *floating_point.FLAGS, *given]

    # Linking ---------------------------------------------------------------------------------------------------------

    def _files_to_link(self) -> list[str]:
        return [word for word in self.words.link if not word.startswith("-")]

    def _refuse_fifos(self) -> None:
        """Raise an InputError for a FIFO among the objects: the linker would wait for its other end."""
        for file in self._files_to_link():
            if Path(file).is_fifo():
                raise InputError(f"nvcc: {file} is a FIFO; expected an object or a library")

    def _link(self, objects: Sequence[Path], program: Path) -> int:
        for word in self.words.link:
            if word.startswith("-l") and (feature := library_of(word[2:])):
                raise InputError(f"nvcc {word}: {unsupported(feature)}")
        self._refuse_fifos()
        libraries = self.home / "lib64"
        code = self._call(
            [
                *self._compiler(),
                *(["-v"] if "-v" in self.words.switches else []),
                *("-o", str(program), *self._folders),
                *map(str, objects),
                *self._blocks_to_check(),
                *(word for word in self.words.link if word[2:] not in LIBRARIES or not word.startswith("-l")),
                *cuda.link_flags(False, cuda_twin.profile_runtime() if self._counts else libraries / cuda.LIBRARY),
            ]
        )
        if self._is_verbose:
            # CMake takes the linker from the first word of the last line that names the toolkit's libraries.
            print(f"#$ {self.home}/bin/nvcc -o {program} {' '.join(self._folders)} -lcudart", file=sys.stderr)
        return code

    def _blocks_to_check(self) -> list[str]:
        """Write a source that defines how many blocks to check, for runs where no environment variable sets it."""
        blocks = self.words.switches.get("-check-blocks")
        if not blocks:
            return []
        if not blocks.isdecimal():
            raise InputError(f"nvcc --check-blocks {blocks}: expected how many blocks of a launch are to be checked")
        chosen = self.scratch / "check_blocks.cpp"
        chosen.write_text(f'extern "C" {{ extern const unsigned {_BLOCKS}; const unsigned {_BLOCKS} = {blocks}; }}\n')
        return [str(chosen)]

    def _empty_object(self, target: Path) -> int:
        """Write an empty object: device code is linked with the rest, but a build file may want this file to link."""
        return self._call([*self._compiler(), "-x", "c++", "-c", "/dev/null", "-o", str(target)])

    @property
    def _counts(self) -> bool:
        """Whether to count events for `opbridge profile`."""
        return "-counters" in self.words.switches

    @property
    def _is_verbose(self) -> bool:
        return bool({"-v", "-dryrun"} & self.words.switches.keys())

    @property
    def _folders(self) -> tuple[str, str]:
        """The linker flags for the library folders; CMake also reads them to link with the host compiler."""
        return f"-L{self.home}/lib64/stubs", f"-L{self.home}/lib64"

    # Commands --------------------------------------------------------------------------------------------------------

    def _announce(self) -> None:
        """Print the lines from which CMake learns where the toolkit is when it runs `nvcc -v`."""
        if self._is_verbose:
            facts = {"TOP": self.home, "PATH": f"{self.home}/bin", "LD_LIBRARY_PATH": f"{self.home}/lib64"}
            facts |= {"INCLUDES": f'"-I{self.home}/include"', "LIBRARIES": " ".join(self._folders)}
            facts |= {"TARGET": f"-arch compute_{cuda.ARCHITECTURE // 10}"}
            for name, value in facts.items():
                print(f"#$ {name}={value}", file=sys.stderr)

    def _call_both(self, first: Sequence[str], second: Sequence[str], columns: Mapping[str, Columns]) -> int:
        """Run both commands at the same time and print messages that both produce only once."""
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(self._call, second, messages=subprocess.DEVNULL)
            return self._call(first, columns) or (other.result() and self._call_whole(second, columns))

    def _call_whole(self, command: Sequence[str], columns: Mapping[str, Columns]) -> int:
        """Compile with checks including the host code, for sources that need it, or print why that fails."""
        return self._call([*command, "-DOPBRIDGE_TWIN_WHOLE=1"], columns)

    def _call(
        self, command: Sequence[str], columns: Mapping[str, Columns] | None = None, messages: int | None = None
    ) -> int:
        """Run a command and return its exit code.

        `columns` maps the columns in messages about a rewritten source back to the user's.

        Raises:
            _StopMetError: The source needs headers that are rewritten on first use.
        """
        if self._is_verbose:
            sys.stderr.write(f"#$ {shlex.join(command)}\n")  # one write: other threads may print too
        if "-dryrun" in self.words.switches:
            return 0
        sys.stderr.flush()
        if columns is None:
            return subprocess.run(command, stdin=subprocess.DEVNULL, stderr=messages).returncode
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="surrogateescape"
        )
        if done.returncode and cccl.STOP in done.stderr:
            raise _StopMetError(done.stderr)
        if done.stderr:
            show()
            sys.stderr.write(with_users_columns(done.stderr, columns))
        return done.returncode
