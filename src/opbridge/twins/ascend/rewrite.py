"""Turns the extensions of Ascend C into C++ that the twin's headers understand; every line stays where it was.

k<<<blocks, nullptr, stream>>>(x, n)      configured<…>("k", [&](auto... a) { k(a...); }, blocks, nullptr, stream)(x, n)
__global__ void k(GM_ADDR x) { body }     ... and behind it aclrtlaunch_k, as ACLRT_LAUNCH_KERNEL(k) calls it
__aicore__ void f() { body }              __aicore__ void f() { OutOfLine …; body }, for it is not inline
#define __aicore__ [aicore]               #define __aicore__
#define GO(k) k<<<…>>>(x)                 #define GO(k) configured<…>(…)(x)
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from opbridge.cxx.reader import CLOSERS, PAIRS, Reader
from opbridge.cxx.tokens import Kind, Token
from opbridge.twins.common.host_calls import aot_function
from opbridge.twins.common.rewriting import INCLUDE_LINE, Included


@dataclass(frozen=True)
class Parameter:
    type: str
    name: str

    @property
    def host_type(self) -> str:
        """Hosts pass addresses of device memory as void*."""
        return "void*" if self.is_address else self.type

    @property
    def is_address(self) -> bool:
        return "*" in self.type or "GM_ADDR" in self.type.split()


# As older projects tell the vendor's compiler what the words mean.
_DEFINED_QUALIFIER = re.compile(r"\s*#\s*define\s+__(?:aicore|global|gm)__(?=\s)")

_MACRO = re.compile(r"\s*#\s*define\s+\w+(?:\((?P<parameters>[^)]*)\))?")

_INLINE = frozenset({"inline", "__inline__", "__inline", "__forceinline__", "always_inline", "constexpr"})

# Names of C's library, which a kernel may have: nothing of it is there on the device.
_NAMES_OF_C = """
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil clock copysign cos cosh div dup erf erfc exp exp2 expm1 fabs
    fdim floor fma fmax fmin fmod frexp hypot index isnan j0 j1 jn ldexp lgamma log log10 log1p log2 logb lrint lround
    modf nearbyint nextafter pow random read remainder remquo remove rename rint round scalb select signal sin sinh sqrt
    tan tanh tgamma time trunc write y0 y1 yn
"""
_OF_C = frozenset(_NAMES_OF_C.split())
_KERNEL = "opbridge_kernel_"
"""Begins the name by which such a kernel is called."""

UNKNOWN = "OPBRIDGE_ASCEND_CORES"
"""The macro for kernels that do not say of which type they are."""


@dataclass(frozen=True)
class Kernel:
    name: str
    parameters: tuple[Parameter, ...]
    cores: str = UNKNOWN
    """The kind of cores that it runs on."""

    @property
    def _signature(self) -> str:
        others = "".join(f", {parameter.host_type} {parameter.name}" for parameter in self.parameters)
        return f"uint32_t aclrtlaunch_{self.name}(uint32_t opbridge_blocks, void* opbridge_stream{others})"

    @property
    def declaration(self) -> str:
        """The text of aclrtlaunch_k.h."""
        return f'#pragma once\n#include <opbridge_ascend/launch.h>\nextern "C" {self._signature};\n'

    @property
    def definition(self) -> str:
        passed = (
            f"({one.type})ob_ascend_window({one.name})" if one.is_address else one.name for one in self.parameters
        )
        call = f"{symbol_of(self.name)}({', '.join(passed)});"
        addresses = ", ".join(f"ob_ascend_window({one.name})" for one in self.parameters if one.is_address)
        launch = f'"{self.name}", opbridge_blocks, [&] {{ {call} }}, {self.cores}, {{{addresses}}}'
        return (
            f'extern "C" __attribute__((visibility("default"))) {self._signature} '
            f"{{ (void)opbridge_stream; return ::opbridge_ascend::launch({launch}); }}"
        )


@dataclass(frozen=True)
class Rewritten:
    code: str
    kernels: tuple[Kernel, ...]
    """Those that a host can call by name: defined outside of namespaces, and no templates."""
    aot_functions: tuple[str, ...] = ()
    """What operators call: the functions with the plain C call."""
    multiplies: bool = False
    """Whether a kernel uses Matmul."""


def symbol_of(kernel: str) -> str:
    return f"{_KERNEL}{kernel}" if kernel in _OF_C else kernel


def rewrite(source: str, file: str, included: Included = lambda name: None) -> Rewritten:
    rewriter = _Rewriter(source, file, included)
    code = rewriter.run()
    multiplies = any(token.text == "REGIST_MATMUL_OBJ" for token in rewriter.tokens)
    return Rewritten(code, tuple(rewriter.kernels), tuple(rewriter.aot_functions), multiplies)


class _Rewriter(Reader):
    def __init__(self, source: str, file: str, included: Included) -> None:
        super().__init__(source, file, 1, directives=True)
        self.texts = [token.text for token in self.tokens]
        self.included = included
        self.kernels: list[Kernel] = []
        self.aot_functions: list[str] = []
        self.parameters: frozenset[str] = frozenset()
        """Of the macro whose text this is."""

    def run(self) -> str:
        scopes: list[bool] = []
        """Of the braces that are open: whether names in them are global ones."""
        head = 0
        """Where the statement began."""
        for index, token in enumerate(self.tokens):
            if token.kind is Kind.DIRECTIVE:
                self._directive(index)
            elif token.text == "{":
                if all(scopes):
                    self._function(head, index, in_c_block=bool(scopes))
                self._out_of_line(head, index)
                scopes.append(self._is_c_linkage(index))
            elif token.text == "}" and scopes:
                scopes.pop()
            elif token.text == "__global__" and all(scopes):
                self._kernel(index)
            elif token.text == "<<<" and not self.follows(index, "operator"):
                self._launch(index)
            if token.kind is Kind.DIRECTIVE or token.text in ("{", "}", ";"):
                head = index + 1
        return "".join(self.texts)

    def _directive(self, index: int) -> None:
        text = self.texts[index]
        if (named := INCLUDE_LINE.match(text)) and (replacement := self.included(named["name"])):
            self.texts[index] = f'{text[: named.start("name")]}"{replacement}"{text[named.end() :]}'
        elif defined := _DEFINED_QUALIFIER.match(text):
            self.texts[index] = defined[0] + "\n" * text.count("\n")
        elif (macro := _MACRO.match(text)) and "<<<" in text:
            body = _Rewriter(text[macro.end() :], self.file, self.included)
            body.kernels = self.kernels
            body.parameters = frozenset(re.findall(r"\w+", macro["parameters"] or ""))
            self.texts[index] = macro[0] + body.run().replace("\\\n", "\n").replace("\n", "\\\n")

    def _function(self, head: int, opened: int, in_c_block: bool) -> None:
        words = [token for token in self.tokens[head:opened] if not token.blank]
        has_c_linkage = in_c_block or [word.text for word in words[:2]] == ["extern", '"C"']
        if has_c_linkage and (name := aot_function(words)):
            self.aot_functions.append(name)

    def _out_of_line(self, head: int, opened: int) -> None:
        """A function of the device's that is not inline says so when it begins: the compiler's flags stop at it."""
        words = [token.text for token in self.tokens[head:opened] if not token.blank]
        is_plain = "__aicore__" in words and "__global__" not in words and _INLINE.isdisjoint(words)
        if is_plain and words[-1] in (")", "const", "noexcept", "override", "final") and "[" not in words:
            self.texts[opened] += " ::opbridge_ascend::OutOfLine opbridge_out_of_line;"

    def _is_c_linkage(self, opened: int) -> bool:
        before = self.previous(opened - 1)
        return before is not None and self.tokens[before].text == '"C"' and self.follows(before, "extern")

    def _kernel(self, index: int) -> None:
        opened = self._parameters(index)
        if opened is None or self._is_template(index):
            return
        name = self.previous(opened - 1)
        if name is not None:
            self.texts[name] = symbol_of(self.texts[name])
        closed = self.match(opened)
        body = self.next(closed + 1)
        if name is None or body is None or self.tokens[body].text != "{":
            return
        parameters = tuple(map(_parameter, self._arguments(opened, closed)))
        kernel = Kernel(self.tokens[name].text, parameters, self._cores(body))
        self.kernels.append(kernel)
        self.texts[self.match(body)] += f" {kernel.definition}"

    def _parameters(self, index: int) -> int | None:
        """The bracket that opens a kernel's list; what stands in brackets before it are attributes."""
        for i in range(index, len(self.tokens)):
            if self.tokens[i].text == ";":
                return None
            before = self.previous(i - 1)
            if self.tokens[i].text != "(" or before is None or self.tokens[before].kind is not Kind.NAME:
                continue
            if not self.tokens[before].text.startswith("__"):
                return i
        return None

    def _cores(self, body: int) -> str:
        words = [token.text for token in self.body(body) if not token.blank]
        if "KERNEL_TASK_TYPE_DEFAULT" not in words:
            return UNKNOWN
        return f"::opbridge_ascend::cores_of({words[words.index('KERNEL_TASK_TYPE_DEFAULT') + 2]})"

    def _is_template(self, index: int) -> bool:
        for i in range(index, -1, -1):
            if self.tokens[i].text in (";", "}") or self.tokens[i].kind is Kind.DIRECTIVE:
                return False
            if self.tokens[i].text == "template":
                return True
        return False

    def _arguments(self, opened: int, closed: int) -> list[list[Token]]:
        """What stands between the commas of a list in brackets, without blanks."""
        arguments: list[list[Token]] = [[]]
        depth = 0
        for token in self.tokens[opened + 1 : closed]:
            depth += (token.text in PAIRS or token.text == "<") - (token.text in CLOSERS or token.text == ">")
            if token.text == "," and depth == 0:
                arguments.append([])
            elif not token.blank:
                arguments[-1].append(token)
        return [words for words in arguments if words]

    def _launch(self, index: int) -> None:
        start = self._start_of_name(index)
        end = self._end_of_configuration(index)
        spelled = "".join(self.texts[start:index]).strip()
        kernel = symbol_of(spelled)
        named = self._as_text(spelled)
        call = f"[&](auto... opbridge_arguments) {{ {kernel}(opbridge_arguments...); }}"
        cores = next((known.cores for known in self.kernels if known.name == spelled), UNKNOWN)
        self.texts[start] = f"::opbridge_ascend::configured<{cores}>({named}, {call}, "
        for i in range(start + 1, index + 1):
            self.texts[i] = "\n" * self.texts[i].count("\n")
        for i in range(end, end + 3):
            self.texts[i] = ")" if i == end else ""

    def _as_text(self, kernel: str) -> str:
        """A string, which in a macro has what stands there for a parameter."""
        pieces = re.split(r"\s*##\s*", kernel) if self.parameters else [kernel]
        quoted = (
            f"#{one}" if one in self.parameters else '"' + re.sub(r'([\\"])', r"\\\1", one) + '"' for one in pieces
        )
        return " ".join(quoted)

    def _start_of_name(self, index: int) -> int:
        at = self.previous(index - 1)
        start = index
        while at is not None:
            if self.tokens[at].text == ">":
                at = self.previous(self.match_back(at) - 1)
                continue
            if self.tokens[at].kind is not Kind.NAME:
                break
            start = at
            before = self.previous(at - 1)
            if before is not None and self.tokens[before].text == "#":  # the second of ##
                before = self.previous(before - 1)
            elif before is None or self.tokens[before].text != "::":
                break
            assert before is not None
            start = before
            at = self.previous(before - 1)
        if start == index:
            raise self.refusal(index, "expected a kernel's name before <<<")
        return start

    def _end_of_configuration(self, index: int) -> int:
        depth = 0
        for i in range(index + 1, len(self.tokens) - 2):
            depth += (self.tokens[i].text in PAIRS) - (self.tokens[i].text in CLOSERS)
            if depth == 0 and all(self.tokens[k].text == ">" for k in range(i, i + 3)):
                return i
        raise self.refusal(index, "expected >>> for this <<<")


def _parameter(words: list[Token]) -> Parameter:
    return Parameter(" ".join(token.text for token in words[:-1]), words[-1].text)
