"""Turns CUDA's extensions into C++ that the twin's headers understand; every line stays where it was.

    __global__ void k(int n) { body }     void k(int n) { launch(..., [=]() mutable { body }); }
    ... { if (i < n) body }               launch(..., [=](passed) mutable { if (passed || i < n) body }, [=] { i < n })
    k<<<grid, block>>>(n)                 (configure(grid, block), k(n), launched())
    __shared__ float t[32];               struct s { float t[32]; }; auto& b = shared<s>(...); auto& t = b.t;
    extern __shared__ float t[];          auto* const t = dynamic_shared<float[]>();

`__CUDA_ARCH__` is defined in the bodies of device functions and nowhere else: everything is compiled once, so outside
of them the source has to read as it does in a compiler's pass over the host code.  Whatever stands in a branch that the
preprocessor drops is harmless, so what the twin lacks becomes an error of the preprocessor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from opbridge.cxx.reader import CLOSERS, PAIRS, Reader
from opbridge.cxx.tokens import Kind, Token, tokenize
from opbridge.twins.common.columns import Columns
from opbridge.twins.common.host_calls import aot_function
from opbridge.twins.common.rewriting import INCLUDE_LINE, Included
from opbridge.twins.cuda.assembly import split_assembly, unknown_instruction
from opbridge.twins.cuda.declarations import declared_names, extents, function_name, pointer_to_function, specifiers
from opbridge.twins.cuda.grid_strides import find_grid_stride, waits
from opbridge.twins.cuda.guards import Guard, find_guard, is_plain
from opbridge.twins.cuda.refused import MISSING_CCCL, cccl_part, refused_header, unsupported

ARCHITECTURE = 800
"""What __CUDA_ARCH__ is: the newest whose every feature outside of PTX the twin has."""

_DEVICE_WORDS = frozenset({"__device__", "__global__"})
_VARIABLE_WORDS = frozenset({"__device__", "__constant__", "__managed__"})
_TAKE_KERNELS = frozenset(
    {
        "cudaLaunchKernel",
        "cudaLaunchKernelExC",
        "cudaLaunchCooperativeKernel",
        "cudaFuncSetAttribute",
        "cudaFuncSetCacheConfig",
        "cudaFuncGetAttributes",
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
        "cudaOccupancyMaxPotentialBlockSize",
    }
)
_CLASS_WORDS = frozenset({"class", "struct", "union", "enum"})
_KEYWORDS = frozenset({"case", "co_return", "do", "else", "for", "if", "return", "switch", "throw", "while"})
_TARGETS = frozenset({"NV_IF_TARGET", "NV_IF_ELSE_TARGET", "NV_DISPATCH_TARGET"})
_NOINLINE = "__attribute__((noinline))"
"""A macro of this name would break the attribute of the same name, which libraries use."""
_DIRECTIVE = re.compile(r"#\s*(\w*)")
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*__CUDA_ARCH__\s*\)|__CUDA_ARCH__\b)")
_IF_DEFINED = re.compile(r"#(\s*)if(n?)def(\s+)__CUDA_ARCH__\b")

_BEFORE_A_VALUE = frozenset({"(", ")", "?", "=", "&&", "||", "!", "return", "else", "do"})
_UNEVALUATED = frozenset({"decltype", "sizeof", "noexcept", "typeid", "alignof", "requires"})


@dataclass
class Unit:
    """What the files of one translation unit tell each other."""

    include: Included = lambda name: None
    kernel_words: set[str] = field(default_factory=lambda: {"__global__"})
    """Macros that stand for __global__ too."""
    device_words: set[str] = field(default_factory=lambda: set(_DEVICE_WORDS))
    host_words: set[str] = field(default_factory=lambda: {"__host__"})
    aot_functions: list[str] = field(default_factory=list)
    """What hosts on the CPU call: the functions with the plain C call."""
    kernels: set[str] = field(default_factory=set)
    """The names of __global__ functions, …"""
    functions: set[str] = field(default_factory=set)
    """… and of others, which may be the same."""
    device_functions: set[str] = field(default_factory=set)
    """Those of both that are not the host's, and are perhaps another source's."""
    opaque: set[str] = field(default_factory=set)
    """Macros that may be more than a number or a name."""
    shared_words: set[str] = field(default_factory=lambda: {"__shared__"})
    """Macros that stand for __shared__ too."""
    shared: dict[str, str] = field(default_factory=dict)
    """What a function has to say first to use a __shared__ variable that is declared outside of all functions."""
    columns: dict[str, Columns] = field(default_factory=dict)
    """Of each file, for whoever reads what the compiler says of the result."""
    is_library: bool = False
    """What it does not use of a library may need what the twin lacks."""
    has_cccl: bool = False
    """Whether Thrust, CUB and libcu++ are there to be included."""
    waits: bool = False
    """A function may wait for other threads, in what was read so far."""
    count: int = 0

    def number(self) -> int:
        self.count += 1
        return self.count


def rewrite(source: str, file: str, unit: Unit) -> str:
    """The C++ for a CUDA source, with as many lines."""
    return _Rewriter(source, file, unit).run()


@dataclass(frozen=True)
class _Scope:
    kind: str
    """namespace, class, function (or a block in one), or initializer."""
    device: bool = False
    host: bool = False
    """It is the host's too."""
    kernel: bool = False
    guard: Guard | None = None
    """Of a kernel."""
    c_linkage: bool = False
    shields: bool = False
    """The function's own names stand in a block within that of the __shared__ variables it uses."""
    head: tuple[int, ...] = ()
    """What stands before it and its brace in a statement that goes on behind it."""


class _Rewriter(Reader):
    def __init__(self, source: str, file: str, unit: Unit, *, line: int = 1, in_macro: bool = False) -> None:
        super().__init__(source, file, line, directives=not in_macro)
        self.unit = unit
        self.in_macro = in_macro
        self.texts = [token.text for token in self.tokens]
        self.before: dict[int, str] = {}
        self.scopes: list[_Scope] = [_Scope("namespace")]
        self.branches: list[list[_Scope]] = []
        self.last_spaces = (False, False)
        """Whether the last function was the device's and the host's."""
        self.done = -1
        """The last token of what has moved elsewhere."""
        self.head: list[int] = []
        """The tokens since the last statement ended, without blanks."""

    def run(self) -> str:
        self.unit.waits |= waits(token.text for token in self.tokens)
        for index, token in enumerate(self.tokens):
            if index <= self.done:
                continue
            if token.kind is Kind.DIRECTIVE:
                self._directive(index)
            elif not token.blank:
                self._code(index)
        pieces = [(self.before.get(index, ""), text) for index, text in enumerate(self.texts)]
        if not (self.in_macro or self.unit.is_library):
            written = (token.text for token in self.tokens)
            self.unit.columns[self.file] = Columns.of(
                (*piece, part) for piece, part in zip(pieces, written, strict=True)
            )
        return "".join(before + text for before, text in pieces)

    # Structure -------------------------------------------------------------------------------------------------------

    def _code(self, index: int) -> None:
        token = self.tokens[index]
        text = token.text
        if token.kind is Kind.NAME:
            self._name(index)
        elif text == "<<<" and not self.follows(index, "operator"):
            self._launch(index)
        if text == "{":
            self._open(index)
        elif text == "}":
            self._close(index)
        elif text == ";":
            self._end_of_statement(index)
            self.head = []
        else:
            self.head.append(index)

    def _open(self, index: int) -> None:
        scope = self._scope_opened(index)
        entered = scope.kind == "function" and self.scopes[-1].kind != "function"
        if self._in_function():
            self._calls()
        if entered:
            self._note_function(scope.kernel, scope.device)
        if entered and self._has_c_linkage() and (name := aot_function(self.tokens[i] for i in self.head)):
            self.unit.aot_functions.append(name)
        inside = "".join(self._shared_used(index)) if scope.device and entered else ""
        if inside:
            scope = replace(scope, shields=True)
            inside += "{"
        self.scopes.append(scope)
        launch = ""
        if scope.kernel:
            starts, head = "launch", "OPBRIDGE_TWIN_KERNEL"
            if scope.guard:
                if scope.guard.takes_turns:
                    starts, head = "launch_in_turns", "OPBRIDGE_TWIN_KERNEL_IN_TURNS"
                else:
                    head = "OPBRIDGE_TWIN_GUARDED_KERNEL"
                self._mark(scope.guard)
            elif self._has_own_scopes(index):
                head = "OPBRIDGE_TWIN_KERNEL_OF_VARIABLES"
            launch = f"{{ ::opbridge_twin::{starts}(__PRETTY_FUNCTION__, [=]{head} "
        self.texts[index] = f"{launch}{{{inside}"
        self.head = []

    def _mark(self, guard: Guard) -> None:
        if guard.takes_turns:
            self.texts[guard.first] = "; (opbridge_twin_passed ? opbridge_twin_first : bool("
            self.texts[guard.last] = ")); opbridge_twin_first = false,"
            return
        known = "!opbridge_twin_passed &&" if guard.returns else "opbridge_twin_passed ||"
        self.texts[guard.first] = f"({known} ("
        self.texts[guard.last] = "))"

    def _has_c_linkage(self) -> bool:
        words = [self.tokens[i].text for i in self.head[:2]]
        return words == ["extern", '"C"'] or any(scope.c_linkage for scope in self.scopes)

    def _has_own_scopes(self, opened: int) -> bool:
        """Whether a kernel's body holds lambdas without a capture or classes, to which its parameters are not known."""
        before = ""
        for token in self.body(opened):
            if token.text in ("class", "struct", "union") or (before == "[" and token.text == "]"):
                return True
            before = token.text if not token.blank else before
        return False

    def _scope_opened(self, index: int) -> _Scope:
        outer, head = self.scopes[-1], (*self.head, index)
        words = [self.tokens[i].text for i in self.head]
        device = outer.device or any(word in self.unit.device_words for word in words)
        host = outer.host or any(word in self.unit.host_words for word in words)
        outside = _outside_of_brackets(words)
        is_class = bool(_CLASS_WORDS & set(outside)) and outside[-1] != ")"
        if outer.kind in ("function", "initializer"):
            return _Scope("class" if is_class else outer.kind, device, host, head=head)
        if "namespace" in outside or (words[:1] == ["extern"] and words[-1].startswith('"')):
            return _Scope("namespace", c_linkage=words == ["extern", '"C"'])
        if not words or words[0] == ",":
            # The body of a constructor, behind the braces of its initializers.
            return _Scope("function", *self.last_spaces)
        in_brackets = sum((word in PAIRS) - (word in CLOSERS) for word in words) > 0  # as a default argument is
        if in_brackets or ("=" in outside and "operator" not in outside):
            return _Scope("initializer", device, host, head=head)
        if is_class:
            return _Scope("class", head=head)
        if ")" not in outside:
            return _Scope("initializer", device, host, head=head)
        kernel = bool(self.unit.kernel_words & set(outside))
        has_guard = kernel and not self.in_macro and not self._has_own_scopes(index)
        guard = self._guard(index) if has_guard else None
        return _Scope("function", device, host, kernel, guard)

    def _guard(self, index: int) -> Guard | None:
        opaque = self.unit.opaque | self.unit.shared.keys()
        guard = find_guard(self.tokens, index, opaque)
        return guard or find_grid_stride(self.tokens, index, opaque, self.unit.waits)

    def _close(self, index: int) -> None:
        scope = self.scopes.pop() if len(self.scopes) > 1 else self.scopes[0]
        self.last_spaces = (scope.device, scope.host)
        if scope.shields:
            self.texts[index] += "}"
        if scope.kernel:
            question = f", [=]OPBRIDGE_TWIN_GUARD {{ {scope.guard.question} }}" if scope.guard else ""
            self.texts[index] += f"{question}); }}"
        # A variable may follow a class, and more of them an initializer.
        self.head = [*scope.head, index] if scope.kind in ("class", "initializer") else []

    def _note_function(self, kernel: bool, device: bool = False) -> None:
        name = function_name([self.tokens[i] for i in self.head])
        if name is not None:
            (self.unit.kernels if kernel else self.unit.functions).add(name)
            if device:
                self.unit.device_functions.add(name)

    def _end_of_statement(self, index: int) -> None:
        words = {self.tokens[i].text for i in self.head}
        if self.head and self._in_function():
            self._calls()
        else:
            self._note_function(bool(words & self.unit.kernel_words), bool(words & self.unit.device_words))
        if words & self.unit.shared_words:
            self._shared(index)
        elif self.scopes[-1].kind == "namespace" and words & _VARIABLE_WORDS and not words & {"extern", "operator"}:
            self._variable(index)

    # Constructs ------------------------------------------------------------------------------------------------------

    def _name(self, index: int) -> None:
        text = self.tokens[index].text
        device = self.scopes[-1].device
        if text == "__CUDA_ARCH__" and device:
            self.texts[index] = str(ARCHITECTURE)
        elif text in ("asm", "__asm__", "__asm") and (device or self.in_macro):
            self._assembly(index)
        elif text in _TARGETS and device and not self.scopes[-1].host:
            self.texts[index] = f"OB_TWIN_DEVICE_{text}"
        elif text == "__noinline__" and not self._is_attribute(index):
            self.texts[index] = _NOINLINE
        elif text in _TAKE_KERNELS:
            self._strip_casts(index)
        elif text == "cudaDeviceSynchronize" and device and not (self.scopes[-1].host or self.unit.is_library):
            self.before[index] = _error("waiting for kernels in device code, which CUDA 12 has no more")
        elif text == "func":
            self._strip_cast_to_member(index)
        elif self._in_function():
            self._template_of_class(index)

    def _template_of_class(self, index: int) -> None:
        """nvcc knows what `A<T>::call<2>(x)` means where `template` is left out before the name."""
        colons, angle = self.previous(index - 1), self.next(index + 1)
        if colons is None or angle is None or self.tokens[colons].text != "::" or self.tokens[angle].text != "<":
            return
        before, closed = self.previous(colons - 1), self.match_angle(angle)
        called = self.next(closed + 1) if closed is not None else None
        if before is None or called is None or self.tokens[before].text != ">" or self.tokens[called].text != "(":
            return
        inside = (token.text for token in self.tokens[angle + 1 : closed])
        # Otherwise these were comparisons.
        if not {*CLOSERS, "&&", "||"} & set(_unpaired(inside)):
            self.before[index] = "template "

    def _assembly(self, index: int) -> None:
        """`asm volatile("..." : "=r"(x) : "r"(y))` becomes `ptx("...", ptx_output("=r", (x)), ptx_input("r", (y)))`."""
        opened = self.next(index + 1)
        while opened is not None and self.tokens[opened].text in ("volatile", "__volatile__", "__volatile"):
            self.texts[opened] = ""
            opened = self.next(opened + 1)
        if opened is None or self.tokens[opened].text != "(":
            return
        sections = split_assembly(self.tokens, opened, self.match(opened))
        for number, section in enumerate(sections[1:]):
            function = ("ptx_output", "ptx_input")[number] if number < 2 else ""
            for item in section.items:
                self._operand(item, function)
            for separator in section.separators:
                self.texts[separator] = ""
        self.texts[index] = "::opbridge_twin::ptx"
        text = [self.tokens[i].text for item in sections[0].items for i in item if not self.tokens[i].blank]
        if not self.unit.is_library and (unknown := unknown_instruction(text)):
            self.before[index] = _error(f"`{unknown}` of inline PTX assembly")

    def _operand(self, item: list[int], function: str) -> None:
        words = [i for i in item if not self.tokens[i].blank]
        if not words:
            return
        if not function:
            self._erase(words[0], words[-1])
            return
        opened = self.match_back(words[-1])
        self.before[words[0]] = f", ::opbridge_twin::{function}("
        self.texts[opened] = ", ("
        self.texts[words[-1]] += ")"

    def _is_attribute(self, index: int) -> bool:
        before = self.previous(index - 1)
        return before is not None and self.tokens[before].text in ("(", ",")

    def _launch(self, index: int) -> None:
        close = self._end_of_configuration(index)
        arguments = self.next(close + 1)
        if arguments is None or self.tokens[arguments].text != "(":
            raise self.refusal(index, "expected the kernel's arguments behind >>>")
        end = self.match(arguments)
        start = self._start_of_kernel(index)
        configuration = "".join(self.texts[index + 1 : close - 2])
        self._erase(index, close)
        self.done = close
        self.before[start] = f"(::opbridge_twin::configure({configuration}), {self.before.get(start, '')}"
        self.texts[end] += ", ::opbridge_twin::launched())"

    def _calls(self) -> None:
        """Refuses what calls a kernel as if it were a function, unless something else may be meant."""
        kernels = self.unit.kernels - self.unit.functions
        if self.in_macro or not kernels:
            return
        depth, before = 0, ""
        questions = False
        for place, index in enumerate(self.head):
            text = self.tokens[index].text
            questions |= text == "?"
            in_expression = before in _BEFORE_A_VALUE or (before == "," and depth) or (before == ":" and questions)
            if text in kernels and index not in self.before and (place == 0 or in_expression):
                self._call(index, is_statement=place == 0)
            if text in _UNEVALUATED:
                return
            depth += (text in PAIRS) - (text in CLOSERS)
            before = text

    def _call(self, first: int, is_statement: bool) -> None:
        name = self.tokens[first].text
        if any(token.text == name and self._is_variable(i) for i, token in enumerate(self.tokens[:first])):
            return
        opened = self.next(first + 1)
        if opened is not None and self.tokens[opened].text == "<":
            angle = self.match_angle(opened)
            opened = self.next(angle + 1) if angle is not None else None
        if opened is None or self.tokens[opened].text != "(":
            return
        close = self.match(opened)
        if is_statement and [i for i in self.head if i > close]:
            return
        self.before[first] = (
            f'_Pragma("GCC error \\"{name} is a __global__ function, which is launched and not called: '
            f'{name}<<<blocks, threads>>>(...)\\"") '
        )

    def _is_variable(self, index: int) -> bool:
        before, behind = self.previous(index - 1), self.next(index + 1)
        if before is None or behind is None or self.tokens[behind].text not in ("=", ";", "{", "[", ",", ")"):
            return False
        return self.tokens[before].kind is Kind.NAME or self.tokens[before].text in ("&", "&&", "*", ">")

    def _end_of_configuration(self, index: int) -> int:
        depth = 0
        for i in range(index + 1, len(self.tokens)):
            text = self.tokens[i].text
            if text in PAIRS:
                depth += 1
            elif text in CLOSERS:
                depth -= 1
            if depth < 0 or text == ";":
                break
            following = self.next(i + 1)
            if (
                depth == 0
                and [token.text for token in self.tokens[i - 2 : i + 1]] == [">"] * 3
                and following is not None
                and self.tokens[following].text == "("
            ):
                return i
        raise self.refusal(index, "expected >>> and the kernel's arguments behind <<<, in the same file and macro")

    def _start_of_kernel(self, index: int) -> int:
        """The first token of the expression before <<<: a name with qualifiers and template arguments, or a call."""
        at = self.previous(index - 1)
        start = index
        while at is not None:
            closed = self.tokens[at].text
            if closed in (")", "]", ">"):
                start = self.match_back(at)
                at = self.previous(start - 1)
                if closed != ")" or (at is not None and (self._is_word(at) or self.tokens[at].text in ("]", ">"))):
                    continue
            elif self._is_word(at):
                start = at
                at = self.previous(start - 1)
            else:
                break
            if at is not None and self.tokens[at].text == "template":
                at = self.previous(at - 1)
            if at is None or self.tokens[at].text not in ("::", "->", "."):
                break
            start = at
            at = self.previous(at - 1)
        if start == index:
            raise self.refusal(index, "expected a kernel's name before <<<")
        return start

    def _is_word(self, index: int) -> bool:
        token = self.tokens[index]
        return token.kind is Kind.NAME and token.text not in _KEYWORDS

    def _strip_casts(self, index: int) -> None:
        """A kernel that is passed as void* has lost its type, which tells what it is."""
        opened = self.next(index + 1)
        if opened is None or self.tokens[opened].text != "(":
            return
        close = self.match(opened)
        i: int | None = opened
        while i is not None and i < close:
            if self.tokens[i].text in ("(", ","):
                self._strip_cast_behind(i)
            i = self.next(i + 1)

    def _strip_cast_to_member(self, index: int) -> None:
        """The same of a kernel that becomes part of a graph, in `params.func = (void*)kernel`."""
        before, behind = self.previous(index - 1), self.next(index + 1)
        if before is None or behind is None:
            return
        is_assigned = self.tokens[before].text in (".", "->") and self.tokens[behind].text == "="
        if is_assigned and any(token.text == "cudaKernelNodeParams" for token in self.tokens):
            self._strip_cast_behind(behind)

    def _strip_cast_behind(self, index: int) -> None:
        cast = self.next(index + 1)
        if cast is None:
            return
        if self.tokens[cast].text == "(":
            end = self.match(cast)
            inside = [token.text for token in self.tokens[cast + 1 : end] if not token.blank]
            if sorted(inside) in (["*", "void"], ["*", "const", "void"]):
                self._erase(cast, end)
        elif self.tokens[cast].text == "reinterpret_cast":
            angle = self.next(cast + 1)
            if angle is not None and (closed := self.match_angle(angle)) is not None:
                self._erase(cast, closed)

    def _shared(self, end: int) -> None:
        first = self.head[0]
        tokens = [self.tokens[i] for i in self.head]
        names = declared_names(tokens, skipped={*self.unit.shared_words, "__align__", "alignas", "extern", "static"})
        if not names:
            raise self.refusal(first, "expected the name of a variable behind __shared__")
        if any(token.text == "=" for token in tokens):
            raise self.refusal(first, "a __shared__ variable cannot be initialized where it is declared")
        if self.in_macro:
            raise self.refusal(first, "__shared__ in a macro: declare the variable outside of it")
        if any(token.text == "extern" for token in tokens):
            self._dynamic_shared(first, end, tokens, names[0])
        else:
            self._static_shared(first, end, names)

    def _dynamic_shared(self, first: int, end: int, tokens: list[Token], name: str) -> None:
        kind = specifiers(tokens, name) + extents(tokens, name)
        declaration = f"auto* const {name} = ::opbridge_twin::dynamic_shared<{kind}>();"
        lines = "".join(self.texts[first : end + 1]).count("\n")
        self._erase(first, end)
        if self._in_function():
            self.texts[first] = declaration + "\n" * lines
        else:
            self.texts[first] = "\n" * lines
            self.unit.shared[name] = declaration

    def _static_shared(self, first: int, end: int, names: list[str]) -> None:
        number = self.unit.number()
        kind, block = f"opbridge_twin_shared_{number}", f"opbridge_twin_block_{number}"
        for i in self.head:
            if self.tokens[i].text in ("__shared__", "static"):
                self.texts[i] = ""
        use = f'auto& {block} = ::opbridge_twin::shared<{kind}>("{", ".join(names)}");'
        use += "".join(f" auto& {name} = {block}.{name};" for name in names)
        self.before[first] = f"{self.before.get(first, '')}struct {kind} {{ "
        self.texts[end] = "; };"
        if self._in_function():
            self.texts[end] += " " + use
        else:
            self.unit.shared |= dict.fromkeys(names, use)

    def _shared_used(self, opened: int) -> Iterable[str]:
        """The declarations of the __shared__ variables from outside that a function mentions."""
        if not self.unit.shared:
            return []
        # A parameter or a member of the same name is what the function means.
        hidden = {self.tokens[i].text for i in self.head} | self._members()
        names = {token.text for token in self.body(opened)}
        used = (text for name, text in self.unit.shared.items() if name in names and name not in hidden)
        return dict.fromkeys(used)

    def _members(self) -> set[str]:
        """The names that the class around declares, more or less: whatever stands outside of its functions."""
        scope = self.scopes[-1]
        if scope.kind != "class" or not scope.head:
            return set()
        names: set[str] = set()
        depth = 0
        for token in self.body(scope.head[-1]):
            depth += (token.text == "{") - (token.text == "}")
            if depth == 1 and token.kind is Kind.NAME:
                names.add(token.text)
        return names

    def _variable(self, end: int) -> None:
        """Lets the checks know a variable of device code by its name."""
        tokens = [self.tokens[i] for i in self.head]
        outside = _outside_of_brackets([token.text for token in tokens])
        before_value = outside[: outside.index("=")] if "=" in outside else outside
        is_function = ")" in before_value and not {"__align__", "alignas"} & set(before_value)
        if {"template", "using"} & set(outside):
            return
        if pointer := pointer_to_function(tokens):
            self.texts[end] += f" OPBRIDGE_TWIN_VARIABLE({pointer}, {self.unit.number()})"
            return
        if is_function:
            return
        for name in declared_names(tokens, skipped={*_VARIABLE_WORDS, "__align__", "alignas", "static"}):
            self.texts[end] += f" OPBRIDGE_TWIN_VARIABLE({name}, {self.unit.number()})"

    # Directives ------------------------------------------------------------------------------------------------------

    def _directive(self, index: int) -> None:
        text = self.texts[index]
        found = _DIRECTIVE.match(text)
        word = found[1] if found else ""
        if word in ("if", "ifdef", "ifndef"):
            self.branches.append(list(self.scopes))
        elif word in ("else", "elif") and self.branches:
            self.scopes = list(self.branches[-1])
        elif word == "endif" and self.branches:
            self.branches.pop()
        if word in ("if", "elif", "ifdef", "ifndef") and self.scopes[-1].device:
            text = _IF_DEFINED.sub(lambda m: f"#{m[1]}if{m[3]}{0 if m[2] else 1}", text)
            self.texts[index] = re.sub(r"\b__CUDA_ARCH__\b", str(ARCHITECTURE), _DEFINED.sub("1", text))
        elif word == "include" and (named := INCLUDE_LINE.match(text)):
            if replacement := self.unit.include(named["name"]):
                self.texts[index] = text[: named.start("name")] + f'"{replacement}"' + text[named.end() :]
            elif feature := refused_header(named["name"][1:-1]):
                self.texts[index] = f"#error {unsupported(feature)}"
            elif not self.unit.has_cccl and (feature := cccl_part(named["name"][1:-1])):
                self.texts[index] = f"#error {MISSING_CCCL.format(feature)}"
        elif word == "define":
            self._macro(index)

    def _macro(self, index: int) -> None:
        text = re.sub(r"(?<![(,\w])(\s*)\b__noinline__\b", rf"\1{_NOINLINE}", self.texts[index])
        self.texts[index] = text
        found = re.match(r"#\s*define\s+(\w+)(?:\([^)]*\))?", text)
        if found and not is_plain(
            [token for token in tokenize(text[found.end() :]) if not token.blank], self.unit.opaque
        ):
            self.unit.opaque.add(found[1])
        if found is None or not re.search(r"<<<|__(?:global|shared|device)__|\b__asm|\basm\b", text):
            return
        body = text[found.end() :]
        words = set(re.findall(r"\w+", body))
        if "__shared__" in words and ";" not in body:
            self.unit.shared_words.add(found[1])
            self.texts[index] = text.replace("__shared__", "")
            return
        if words & self.unit.device_words and "{" not in body:
            # Used where __device__ or __global__ may stand.
            self.unit.device_words.add(found[1])
            if words & self.unit.kernel_words:
                self.unit.kernel_words.add(found[1])
            return
        blank = re.sub(r"[^\n]", " ", found.group())
        inner = _Rewriter(blank + body, self.file, self.unit, line=self.line(index), in_macro=True)
        inner.scopes = [_Scope("namespace"), self.scopes[-1]] if self._in_function() else [_Scope("namespace")]
        self.texts[index] = found.group() + inner.run()[len(blank) :]

    def _erase(self, first: int, last: int) -> None:
        for i in range(first, last + 1):
            self.texts[i] = ""

    def _in_function(self) -> bool:
        return any(scope.kind == "function" for scope in self.scopes)


def _outside_of_brackets(words: list[str]) -> list[str]:
    """The words with brackets, but not with what is in them."""
    outside: list[str] = []
    depth = 0
    for position, word in enumerate(words):
        angle = word == "<" and position > 0 and (words[position - 1].isidentifier() or depth > 0)
        closes = word in CLOSERS or (word == ">" and depth > 0)
        depth -= closes
        if depth == 0:
            outside.append(word)
        depth += word in PAIRS or angle
    return outside


def _unpaired(words: Iterable[str]) -> Iterable[str]:
    """The words that are no bracket of a pair among them."""
    opened: list[str] = []
    for word in words:
        if word in PAIRS:
            opened.append(word)
        elif word in CLOSERS and opened:
            opened.pop()
        else:
            yield word


def _error(feature: str) -> str:
    return f'_Pragma("GCC error \\"{unsupported(feature)}\\"") '
