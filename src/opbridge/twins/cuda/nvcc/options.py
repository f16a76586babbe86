"""The table of nvcc's options, and how the replacement with the host compiler and the twin treats each."""

from __future__ import annotations

from enum import Enum, auto


class Kind(Enum):
    """How the replacement treats an option; the kinds from `VALUE` on are followed by a value."""

    PHASE = auto()
    """It selects the last step to run."""
    HOST = auto()
    """It is passed to the host compiler under the same name."""
    LINK = auto()
    """It is passed to the linker's driver under the same name."""
    SWITCH = auto()
    """The replacement itself handles it."""
    IGNORED = auto()
    """It concerns GPUs or nvcc itself and has no effect."""
    VALUE = auto()
    HOST_VALUE = auto()
    LINK_VALUE = auto()
    SWITCH_VALUE = auto()
    FOR_HOST = auto()
    """It passes comma-separated arguments to the host compiler."""
    FOR_LINKER = auto()
    REFUSED = auto()

    @property
    def takes_value(self) -> bool:
        """Whether an option of this kind is followed by a value."""
        return self in _WITH_VALUES


_WITH_VALUES = frozenset(
    {Kind.VALUE, Kind.HOST_VALUE, Kind.LINK_VALUE, Kind.SWITCH_VALUE, Kind.FOR_HOST, Kind.FOR_LINKER}
)

_SHORT = {
    Kind.PHASE: "-c -dc -dw -dlink -link -lib -run -E -M -MM -ptx -cubin -fatbin",
    Kind.HOST: "-w -pg -m64 -fPIC -fopenmp -pthread -pipe",
    Kind.LINK: "-shared -static -rdynamic -s",
    Kind.SWITCH: (
        "-g -G -v -dryrun -V -h -counters -MD -MMD -MP -forward-unknown-opts -forward-unknown-to-host-compiler"
    ),
    Kind.IGNORED: (
        "-lineinfo -src-in-ptx -extra-device-vectorization -expt-relaxed-constexpr -expt-extended-lambda "
        "-extended-lambda -use_fast_math -use-fast-math -keep -clean -res-usage -restrict -ewp -dlto -lto "
        "-Wreorder -Wno-deprecated-gpu-targets -Wdefault-stream-launch -Wext-lambda-captures-this -noprof "
        "-objtemp -no-align-double -no-host-device-initializer-list -no-host-device-move-forward "
        "-forward-unknown-to-host-linker -static-global-template-stub -no-device-link -nodlink "
        "-allow-unsupported-compiler -device-int128 -brief-diagnostics -minimal -noeh -fast-compile "
        "-forward-slash-prefix-opts -cuda -gen-opt-lto -no-compress -display-error-number "
        "-no-display-error-number"
    ),
    Kind.REFUSED: "-optix-ir -ltoir",
    Kind.VALUE: (
        "-arch -code -gencode -maxrregcount -Xptxas -Xnvlink -Xarchive -Xfatbin -ftz -prec-div "
        "-prec-sqrt -cudart -cudadevrt -keep-dir -target-dir -split-compile -default-stream -diag-suppress "
        "-diag-error -diag-warn -Werror -libdevice-directory -ldir -idp -ddp -jump-table-density -dbgenv "
        "-device-stack-protector -fdevice-time-trace -fdevice-syntax-only -compress-mode -Ofc "
        "-host-linker-script -aug-hls -relocatable-ptx -m -time -nvlink-options -device-debug-level "
        "-split-compile-extended -arch-list -gen-opt -ccbin-opts -static-global"
    ),
    Kind.HOST_VALUE: "-D -U -I -isystem -include -std -O",
    Kind.LINK_VALUE: "-L -l",
    Kind.SWITCH_VALUE: "-check-blocks -rdc -o -odir -x -MF -MT -MQ -ccbin -t -optf -fmad",
    Kind.FOR_HOST: "-Xcompiler",
    Kind.FOR_LINKER: "-Xlinker",
}
OPTIONS = {name: kind for kind, names in _SHORT.items() for name in names.split()}

LONG_NAMES = {
    "--compile": "-c",
    "--device-c": "-dc",
    "--device-w": "-dw",
    "--device-link": "-dlink",
    "--link": "-link",
    "--lib": "-lib",
    "--run": "-run",
    "--preprocess": "-E",
    "--generate-dependencies": "-M",
    "--generate-nonsystem-dependencies": "-MM",
    "--generate-dependencies-with-compile": "-MD",
    "--generate-nonsystem-dependencies-with-compile": "-MMD",
    "--generate-dependency-targets": "-MP",
    "--dependency-output": "-MF",
    "--dependency-target-name": "-MT",
    "--output-file": "-o",
    "--output-directory": "-odir",
    "--pre-include": "-include",
    "--define-macro": "-D",
    "--undefine-macro": "-U",
    "--include-path": "-I",
    "--system-include": "-isystem",
    "--library": "-l",
    "--library-path": "-L",
    "--compiler-bindir": "-ccbin",
    "--compiler-options": "-Xcompiler",
    "--linker-options": "-Xlinker",
    "--archive-options": "-Xarchive",
    "--ptxas-options": "-Xptxas",
    "--nvlink-options": "-Xnvlink",
    "--gpu-architecture": "-arch",
    "--gpu-code": "-code",
    "--generate-code": "-gencode",
    "--relocatable-device-code": "-rdc",
    "--generate-line-info": "-lineinfo",
    "--optimize": "-O",
    "--debug": "-g",
    "--device-debug": "-G",
    "--profile": "-pg",
    "--machine": "-m",
    "--threads": "-t",
    "--options-file": "-optf",
    "--verbose": "-v",
    "--version": "-V",
    "--help": "-h",
    "--disable-warnings": "-w",
    "--resource-usage": "-res-usage",
    "--link-time-opt": "-lto",
    "--no-device-link": "-nodlink",
}
"""The long names that are not just the short name with another dash in front."""


def canonical(name: str) -> str:
    """Return the name under which an option is in the table."""
    return LONG_NAMES.get(name) or (name[1:] if name.startswith("--") else name)
