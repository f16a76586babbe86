"""Explanations for symbols that a library expects from others and that none defines."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from opbridge.authoring.doctor.demangling import NEW_STRING, demangled, function_prefix, readable, without_string_kind
from opbridge.authoring.doctor.packages import PYTORCH_WITH_CUDA
from opbridge.authoring.doctor.report import Problem
from opbridge.authoring.doctor.symbol_sources import SOURCES, SymbolSource, interpreter
from opbridge.build.sources.elf_image import Image

_SHOWN = 5
_CUDA = re.compile(r"(__cuda|cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|nvrtc|cu)[A-Z]\w*|__cuda\w+")
_OF_CUDA = re.compile(r"^(typeinfo for |vtable for )?(c10|at)::cuda::")
_CANN = re.compile(r"acl[a-z]*[A-Z]\w*|rt[A-Z]\w+|Hccl\w+|_ZN2ge")
_PYTHON = re.compile(r"_?Py[A-Z_]\w+")
_CPP_RUNTIME = re.compile(
    r"_ZN?K?St|_ZNS[ts]|_ZNKS[ts]|__cxa_|__gxx_|_ZT[ISV]N?St|_ZT[ISV]N10__cxxabi|_Znw|_Zdl|_Zna|_Zda"
)


def undefined(image: Image, found: Sequence[Image]) -> list[str]:
    """Return the required symbols that none of the libraries in `found` defines."""
    wanted = (symbol.name for symbol in image.symbols if not symbol.is_defined and not symbol.is_weak)
    return [name for name in wanted if not any(other.defines(name) for other in found)]


def explain(symbols: Iterable[str]) -> tuple[list[Problem], list[SymbolSource]]:
    """Return the problems, and the sources whose import before loading defines the other symbols."""
    unknown: dict[str, list[str]] = defaultdict(list)
    lacking: dict[SymbolSource, list[str]] = defaultdict(list)
    before: dict[SymbolSource, None] = {}
    for symbol in symbols:
        if any(image.defines(symbol) for image in interpreter()):
            continue
        provider = next((source for source in SOURCES if source.defines(symbol)), None)
        owner = next((source for source in SOURCES if source.owns(symbol)), None)
        if provider is not None:
            before[provider] = None
        elif owner is not None:
            lacking[owner].append(symbol)
        else:
            unknown[_family(symbol)].append(symbol)
    problems = [problem for source, names in lacking.items() for problem in _not_this_one(source, names)]
    problems += [
        Problem(f"{_counted(names, what)} missing", cure, _shown(map(readable, names)))
        for what, cure in _CURES.items()
        if (names := unknown[what])
    ]
    return problems, list(before)


_CURES = {
    "CUDA": "link with the CUDA runtime: -L$CUDA_HOME/lib64 -lcudart, or compile it with nvcc",
    "CANN": "link with CANN's libraries: -L$ASCEND_HOME_PATH/lib64 -lascendcl",
    "Python": "build it with the headers of the Python that is to import it: python3 -m sysconfig shows them",
    "C++ runtime": "link with g++ in place of gcc or ld, or build it with a compiler as old as the libstdc++ here",
    "": "link with the library that has them; -Wl,-z,defs shows this when building",
}


def _family(symbol: str) -> str:
    families = {"Python": _PYTHON, "CUDA": _CUDA, "CANN": _CANN, "C++ runtime": _CPP_RUNTIME}
    return next((name for name, pattern in families.items() if pattern.match(symbol)), "")


def _not_this_one(source: SymbolSource, symbols: list[str]) -> list[Problem]:
    """Return the problems with symbols that the source should define and does not."""
    if not source.libraries:
        what = f"it uses {source.title}, which is not installed: {_counted(symbols, '')} missing"
        return [
            Problem(what, f"pip install {source.distribution}, of the version it was built for", _shown_of(symbols))
        ]
    old: list[str] = []
    new: list[str] = []
    changed: list[tuple[str, list[str]]] = []
    on_gpu: list[str] = []
    has_cuda = any("cuda" in path.name for path in source.libraries)
    for symbol in symbols:
        name = demangled(symbol)
        if _OF_CUDA.search(name) and not has_cuda:
            on_gpu.append(symbol)
            continue
        siblings = (
            [demangled(other) for other in source.overloads(prefix)] if (prefix := function_prefix(symbol)) else []
        )
        if any(without_string_kind(other) == without_string_kind(name) for other in siblings):
            (new if NEW_STRING in name else old).append(symbol)
        else:
            changed.append((symbol, [other for other in siblings if other.partition("(")[0] == name.partition("(")[0]]))
    this = f"{source.title} {source.version}".strip()
    problems = []
    if on_gpu:
        what = f"it uses the part of {source.title} for CUDA, which {this} has not: {_counted(on_gpu, '')} missing"
        problems.append(Problem(what, PYTORCH_WITH_CUDA, _shown_of(on_gpu)))
    if old:
        cure = "build it again with -D_GLIBCXX_USE_CXX11_ABI=1, or without that flag"
        what = f"it was compiled with the old std::string, {this} with the new one: {_counted(old, '')} missing"
        problems.append(Problem(what, cure, _shown_of(old)))
    if new:
        what = f"it was compiled with the new std::string, {this} with the old one: {_counted(new, '')} missing"
        problems.append(Problem(what, "build it again with -D_GLIBCXX_USE_CXX11_ABI=0", _shown_of(new)))
    if changed:
        cure = f"build it again against {this}, or install the {source.title} that it was built for"
        what = f"it was built for another {source.title}: {this} has not {_counted([s for s, _ in changed], '')} of it"
        lines = [line for symbol, others in changed[:_SHOWN] for line in _with_siblings(symbol, others)]
        more = [f"and {len(changed) - _SHOWN} more"] if len(changed) > _SHOWN else []
        problems.append(Problem(what, cure, (*lines, *more)))
    return problems


def _with_siblings(symbol: str, others: list[str]) -> list[str]:
    here = [f"  here it is {without_string_kind(other)}" for other in others[:2]]
    return [readable(symbol), *(here or ["  which is not there at all"])]


def _shown_of(symbols: list[str]) -> tuple[str, ...]:
    return _shown(map(readable, symbols))


def _shown(names: Iterable[str]) -> tuple[str, ...]:
    listed = list(names)
    more = (f"and {len(listed) - _SHOWN} more",) if len(listed) > _SHOWN else ()
    return (*listed[:_SHOWN], *more)


def _counted(symbols: list[str], whose: str) -> str:
    return " ".join(filter(None, (str(len(symbols)), whose, "symbol" if len(symbols) == 1 else "symbols")))
