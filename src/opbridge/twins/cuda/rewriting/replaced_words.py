"""Words that mean something else to the CUDA compiler than to the host's."""

from __future__ import annotations

from collections.abc import Iterable

from opbridge.build.cxx.reader import CLOSERS, PAIRS
from opbridge.twins.cuda.missing_headers import compile_error
from opbridge.twins.cuda.rewriting.assembly import rewrite_assembly
from opbridge.twins.cuda.rewriting.casts import keep_kernel, strip_cast_to_member, strip_casts
from opbridge.twins.cuda.rewriting.changed_variables import is_value
from opbridge.twins.cuda.rewriting.source import Source, outside_of_brackets

ARCHITECTURE = 800
"""The value of __CUDA_ARCH__: the newest architecture of which the twin has every feature outside of PTX."""

NOINLINE = "__attribute__((noinline))"
"""The replacement of __noinline__; a macro would break the attribute of the same name, which libraries use."""

_TAKE_KERNELS = frozenset(
    {
        "cudaLaunchKernel",
        "cudaLaunchKernelExC",
        "cudaLaunchCooperativeKernel",
        "cudaFuncSetAttribute",
        "cudaFuncSetCacheConfig",
        "cudaFuncSetSharedMemConfig",
        "cudaFuncGetAttributes",
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
        "cudaOccupancyMaxPotentialBlockSize",
    }
)
_COPIES = frozenset({"__builtin_memcpy", "__builtin_memmove", "__builtin_memset"})
"""Functions that compilers expand to instructions that the checks do not see."""
_TARGETS = frozenset({"NV_IF_TARGET", "NV_IF_ELSE_TARGET", "NV_DISPATCH_TARGET"})


def rewrite_word(source: Source, index: int) -> None:
    """Rewrite the name at `index` if CUDA gives it another meaning."""
    text = source.tokens[index].text
    device = source.scopes[-1].device
    if text == "__CUDA_ARCH__" and device:
        source.texts[index] = str(ARCHITECTURE)
    elif text == "clock" and device and _is_call_of_c(source, index):
        source.texts[index] = "::opbridge_twin::ticks"
    elif text in ("asm", "__asm__", "__asm") and (device or source.in_macro):
        rewrite_assembly(source, index)
    elif text in _TARGETS and device and not source.scopes[-1].host:
        source.texts[index] = f"OB_TWIN_DEVICE_{text}"
    elif text == "__noinline__" and not _is_attribute(source, index):
        source.texts[index] = NOINLINE
    elif text in _COPIES and (device or source.in_macro) and not source.unit.is_library:
        source.texts[index] = text.replace("__", "::opbridge_twin::", 1)
    elif text == "operator" and source.follows(index, "."):
        _leave_half(source, index)
    elif text == "return" and any(scope.leaves for scope in source.scopes):
        _note_return(source, index)
    elif text in _TAKE_KERNELS:
        strip_casts(source, index)
    elif text == "cudaDeviceSynchronize" and device and not (source.scopes[-1].host or source.unit.is_library):
        source.before[index] = compile_error("waiting for kernels in device code, which CUDA 12 removed")
    elif text == "func":
        strip_cast_to_member(source, index)
    elif source.in_function() or source.in_macro:
        if text in source.unit.kernels and text not in source.unit.functions:
            keep_kernel(source, index)
        _template_of_class(source, index)


def _is_call_of_c(source: Source, index: int) -> bool:
    """Return whether a name is called without arguments and is not a member."""
    before, opened = source.previous(index - 1), source.next(index + 1)
    closed = source.next(opened + 1) if opened is not None else None
    if closed is None or [source.tokens[i].text for i in (opened, closed) if i is not None] != ["(", ")"]:
        return False
    return before is None or source.tokens[before].text not in (".", "->", "::")


def _note_return(source: Source, index: int) -> None:
    """Mark a `return;` for the checks: once a thread has ended, GPU barriers wait only for the others."""
    end = source.next(index + 1)
    if source.texts[index] == "return" and end is not None and source.tokens[end].text == ";":
        source.texts[index] = "OPBRIDGE_TWIN_RETURN"


def _is_attribute(source: Source, index: int) -> bool:
    before = source.previous(index - 1)
    return before is not None and source.tokens[before].text in ("(", ",")


def _leave_half(source: Source, index: int) -> None:
    """Remove an explicit conversion to __half: nvcc needs it for PyTorch's halves, and the twin does not."""
    dot, name = source.previous(index - 1), source.next(index + 1)
    opened = source.next(name + 1) if name is not None and source.tokens[name].text == "__half" else None
    closed = source.next(opened + 1) if opened is not None else None
    if dot is not None and closed is not None and source.tokens[closed].text == ")":
        source.erase(dot, closed)


def _template_of_class(source: Source, index: int) -> None:
    """Insert the `template` that nvcc lets sources omit, as in `A<T>::call<2>(x)` and `a.call<2>(x)`."""
    mark, angle = source.previous(index - 1), source.next(index + 1)
    if mark is None or angle is None or source.tokens[angle].text != "<":
        return
    closed = source.match_angle(angle)
    called = source.next(closed + 1) if closed is not None else None
    if called is None or source.tokens[called].text != "(":
        return
    inside = [token.text for token in source.tokens[angle + 1 : closed] if not token.blank]
    # Otherwise these are comparisons.
    is_list = not {*CLOSERS, "&&", "||"} & set(_unpaired(inside))
    if is_list and (_is_of_template(source, mark, index) or _compares_nothing(source, mark, inside, called)):
        source.before[index] = "template "


def _is_of_template(source: Source, mark: int, index: int) -> bool:
    """Return whether the text before a member's name allows it to be a template."""
    if source.tokens[mark].text == "::":
        return source.follows(mark, ">")
    return source.tokens[mark].text in (".", "->") and source.tokens[index].text in source.unit.member_templates


def _compares_nothing(source: Source, mark: int, inside: list[str], called: int) -> bool:
    """Return whether a member can only be a template: `a.block<3, 3>(0, 0)`, but not `a.x < 1, 2 > (3)`."""
    plain = all(is_value(word) or word in (",", "::", "<", ">", "*") for word in inside)
    if not plain or source.tokens[mark].text not in (".", "->"):
        return False
    arguments = [token.text for token in source.tokens[called + 1 : source.match(called)] if not token.blank]
    return "," not in inside or not arguments or "," in outside_of_brackets(arguments)


def _unpaired(words: Iterable[str]) -> Iterable[str]:
    """Yield the words that are not brackets of a pair."""
    opened: list[str] = []
    for word in words:
        if word in PAIRS:
            opened.append(word)
        elif word in CLOSERS and opened:
            opened.pop()
        else:
            yield word
