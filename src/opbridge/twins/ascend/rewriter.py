"""The rewriting of Ascend C extensions into C++ for the headers of the twin; every line keeps its number.

k<<<blocks, nullptr, stream>>>(x, n)      configured<…>("k", [&](auto... a) { k(a...); }, blocks, nullptr, stream)(x, n)
__global__ void k(GM_ADDR x) { body }     ... and after it aclrtlaunch_k, as ACLRT_LAUNCH_KERNEL(k) calls it
__aicore__ void f() { body }              __aicore__ void f() { OutOfLine …; body }, for it is not inline
#define __aicore__ [aicore]               #define __aicore__
#define GO(k) k<<<…>>>(x)                 #define GO(k) configured<…>(…)(x)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from opbridge.build.cxx.ascend_kernels import AscendKernel, AscendSource, Block
from opbridge.build.cxx.reader import CLOSERS, PAIRS
from opbridge.build.cxx.tokens import Kind, Token
from opbridge.twins.common.host_calls import aot_function
from opbridge.twins.common.rewritten_sources import INCLUDE_LINE, Included

# Older projects define these qualifiers for the vendor's compiler.
_DEFINED_QUALIFIER = re.compile(r"\s*#\s*define\s+__(?:aicore|global|gm)__(?=\s)")

_MACRO = re.compile(r"\s*#\s*define\s+\w+(?:\((?P<parameters>[^)]*)\))?")

_INLINE = frozenset({"inline", "__inline__", "__inline", "__forceinline__", "always_inline", "constexpr"})

# C library names, which a kernel may have too: the device has no C library.
_NAMES_OF_C = """
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil clock copysign cos cosh div dup erf erfc exp exp2 expm1 fabs
    fdim floor fma fmax fmin fmod frexp hypot index isnan j0 j1 jn ldexp lgamma log log10 log1p log2 logb lrint lround
    modf nearbyint nextafter pow random read remainder remquo remove rename rint round scalb select signal sin sinh sqrt
    tan tanh tgamma time trunc write y0 y1 yn
"""
_OF_C = frozenset(_NAMES_OF_C.split())
_KERNEL = "opbridge_kernel_"
"""The prefix of the symbol of such a kernel."""

UNKNOWN = "OPBRIDGE_ASCEND_CORES"
"""The macro for the core type of kernels that do not declare their own."""


@dataclass(frozen=True)
class LaunchFunction:
    """The function aclrtlaunch_k, which hosts call to start a kernel."""

    kernel: AscendKernel

    @property
    def _signature(self) -> str:
        # Hosts pass addresses of device memory as void*.
        parameters = self.kernel.parameters
        others = "".join(f", {'void*' if one.is_address else one.type} {one.name}" for one in parameters)
        return f"uint32_t aclrtlaunch_{self.kernel.name}(uint32_t opbridge_blocks, void* opbridge_stream{others})"

    @property
    def declaration(self) -> str:
        """The text of aclrtlaunch_k.h."""
        return f'#pragma once\n#include <opbridge_ascend/launch.h>\nextern "C" {self._signature};\n'

    @property
    def definition(self) -> str:
        """The definition of aclrtlaunch_k, on one line."""
        name, parameters = self.kernel.name, self.kernel.parameters
        passed = (f"({one.type})ob_ascend_window({one.name})" if one.is_address else one.name for one in parameters)
        call = f"{symbol_of(name)}({', '.join(passed)});"
        addresses = ", ".join(f"ob_ascend_window({one.name})" for one in parameters if one.is_address)
        launch = f'"{name}", opbridge_blocks, [&] {{ {call} }}, {cores_of(self.kernel)}, {{{addresses}}}'
        return (
            f'extern "C" __attribute__((visibility("default"))) {self._signature} '
            f"{{ (void)opbridge_stream; return ::opbridge_ascend::launch({launch}); }}"
        )


@dataclass(frozen=True)
class Rewritten:
    """The rewritten text of a file, and what was found in it."""

    code: str
    kernels: tuple[AscendKernel, ...]
    aot_functions: tuple[str, ...] = ()
    """The functions with the plain C call, which operators call."""
    multiplies: bool = False
    """Whether a kernel uses Matmul."""


def cores_of(kernel: AscendKernel | None) -> str:
    """Return the C++ expression for the core type of a kernel."""
    return f"::opbridge_ascend::cores_of({kernel.task_type})" if kernel and kernel.task_type else UNKNOWN


def symbol_of(kernel: str) -> str:
    """Return the C++ name of a kernel, which differs from its own if the C library has that name."""
    return f"{_KERNEL}{kernel}" if kernel in _OF_C else kernel


def rewrite(text: str, file: str, included: Included = lambda name: None) -> Rewritten:
    """Rewrite the text of a file; `included` maps include names to replacements."""
    source = AscendSource(text, file)
    rewriter = _Rewriter(source, included)
    code = rewriter.run()
    return Rewritten(code, tuple(rewriter.kernels), tuple(rewriter.aot_functions), source.uses_matmul)


class _Rewriter:
    def __init__(
        self,
        source: AscendSource,
        included: Included,
        around: Sequence[AscendKernel] = (),
        parameters: frozenset[str] = frozenset(),
    ) -> None:
        """Create a rewriter; `around` and `parameters` are the enclosing file's kernels and macro parameters."""
        self.source = source
        self.tokens = source.tokens
        self.texts = [token.text for token in source.tokens]
        self.included = included
        self.parameters = parameters
        self.kernels = [*around, *source.kernels]
        self.aot_functions: list[str] = []

    def run(self) -> str:
        for index in self.source.directives:
            self._directive(index)
        for block in self.source.blocks:
            if block.is_global:
                self._function(block)
            self._out_of_line(block)
        for index in self.source.kernel_words:
            self.texts[index] = symbol_of(self.texts[index])
        for kernel in self.source.kernels:
            self.texts[kernel.end] += f" {LaunchFunction(kernel).definition}"
        for index in self.source.launches:
            self._launch(index)
        return "".join(self.texts)

    def _directive(self, index: int) -> None:
        text = self.texts[index]
        if (named := INCLUDE_LINE.match(text)) and (replacement := self.included(named["name"])):
            self.texts[index] = f'{text[: named.start("name")]}"{replacement}"{text[named.end() :]}'
        elif defined := _DEFINED_QUALIFIER.match(text):
            self.texts[index] = defined[0] + "\n" * text.count("\n")
        elif (macro := _MACRO.match(text)) and "<<<" in text:
            source = AscendSource(text[macro.end() :], self.source.file)
            parameters = frozenset(re.findall(r"\w+", macro["parameters"] or ""))
            body = _Rewriter(source, self.included, self.kernels, parameters)
            self.texts[index] = macro[0] + body.run().replace("\\\n", "\n").replace("\n", "\\\n")
            self.kernels += source.kernels

    def _function(self, block: Block) -> None:
        words = self._words(block)
        has_c_linkage = block.is_inner or [word.text for word in words[:2]] == ["extern", '"C"']
        if has_c_linkage and (name := aot_function(words)):
            self.aot_functions.append(name)

    def _out_of_line(self, block: Block) -> None:
        """Mark the beginning of a non-inline device function: the compiler's flags stop at it."""
        words = [token.text for token in self._words(block)]
        is_plain = "__aicore__" in words and "__global__" not in words and _INLINE.isdisjoint(words)
        if is_plain and words[-1] in (")", "const", "noexcept", "override", "final") and "[" not in words:
            self.texts[block.opened] += " ::opbridge_ascend::OutOfLine opbridge_out_of_line;"

    def _words(self, block: Block) -> list[Token]:
        return [token for token in self.tokens[block.head : block.opened] if not token.blank]

    def _launch(self, index: int) -> None:
        start = self._start_of_name(index)
        end = self._end_of_configuration(index)
        spelled = "".join(self.texts[start:index]).strip()
        kernel = symbol_of(spelled)
        named = self._as_text(spelled)
        call = f"[&](auto... opbridge_arguments) {{ {kernel}(opbridge_arguments...); }}"
        cores = cores_of(next((known for known in self.kernels if known.name == spelled), None))
        self.texts[start] = f"::opbridge_ascend::configured<{cores}>({named}, {call}, "
        for i in range(start + 1, index + 1):
            self.texts[i] = "\n" * self.texts[i].count("\n")
        for i in range(end, end + 3):
            self.texts[i] = ")" if i == end else ""

    def _as_text(self, kernel: str) -> str:
        """Return a kernel name as a C++ string; macro parameters are expanded in it."""
        pieces = re.split(r"\s*##\s*", kernel) if self.parameters else [kernel]
        quoted = (
            f"#{one}" if one in self.parameters else '"' + re.sub(r'([\\"])', r"\\\1", one) + '"' for one in pieces
        )
        return " ".join(quoted)

    def _start_of_name(self, index: int) -> int:
        at = self.source.previous(index - 1)
        start = index
        while at is not None:
            if self.tokens[at].text == ">":
                at = self.source.previous(self.source.match_back(at) - 1)
                continue
            if self.tokens[at].kind is not Kind.NAME:
                break
            start = at
            before = self.source.previous(at - 1)
            if before is not None and self.tokens[before].text == "#":  # the second character of ##
                before = self.source.previous(before - 1)
            elif before is None or self.tokens[before].text != "::":
                break
            assert before is not None
            start = before
            at = self.source.previous(before - 1)
        if start == index:
            raise self.source.refusal(index, "expected a kernel's name before <<<")
        return start

    def _end_of_configuration(self, index: int) -> int:
        depth = 0
        for i in range(index + 1, len(self.tokens) - 2):
            depth += (self.tokens[i].text in PAIRS) - (self.tokens[i].text in CLOSERS)
            if depth == 0 and all(self.tokens[k].text == ">" for k in range(i, i + 3)):
                return i
        raise self.source.refusal(index, "expected >>> for this <<<")
