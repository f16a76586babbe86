"""An Ascend C source, read once: the places of its kernels, blocks and launches, and the kernels' parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from opbridge.build.cxx.reader import CLOSERS, PAIRS, Reader
from opbridge.build.cxx.tokens import Kind, Token

_TASK_TYPES = {
    "__mix__(1,2)": "KERNEL_TYPE_MIX_AIC_1_2",
    "__mix__(1,1)": "KERNEL_TYPE_MIX_AIC_1_1",
    "__mix__(1,0)": "KERNEL_TYPE_MIX_AIC_1_0",
    "__mix__(0,1)": "KERNEL_TYPE_MIX_AIV_1_0",
    "__cube__": "KERNEL_TYPE_AIC_ONLY",
    "__vector__": "KERNEL_TYPE_AIV_ONLY",
}
"""The core types that words of a declaration state, without blanks."""


@dataclass(frozen=True)
class KernelParameter:
    """A parameter of a kernel."""

    type: str
    name: str

    @property
    def is_address(self) -> bool:
        """Whether the parameter is an address in device memory."""
        return "*" in self.type or "GM_ADDR" in self.type.split()


@dataclass(frozen=True)
class AscendKernel:
    """A kernel that can be called by its name: outside of namespaces, and not a template."""

    name: str
    parameters: tuple[KernelParameter, ...]
    task_type: str | None = None
    """The core type that the kernel declares, if any."""
    end: int = field(default=0, compare=False)
    """The index of the token that ends the body."""


@dataclass(frozen=True)
class Block:
    """A block in braces, as token indices."""

    head: int
    """The start of the statement that the block belongs to."""
    opened: int
    is_global: bool
    """Whether a function here has a global name."""
    is_inner: bool
    """Whether another block is around it."""


class AscendSource(Reader):
    """A parsed source, which host code, builds and the twin share."""

    def __init__(self, text: str, file: str) -> None:
        super().__init__(text, file, 1, directives=True)
        self.kernels: list[AscendKernel] = []
        self.kernel_words: list[int] = []
        """The tokens that name a kernel in a declaration or definition."""
        self.global_functions: set[str] = set()
        """The names of all functions marked as kernels, in any scope."""
        self.blocks: list[Block] = []
        self.directives: list[int] = []
        self.launches: list[int] = []
        self._read()

    @property
    def uses_matmul(self) -> bool:
        """Whether the source uses Matmul objects."""
        return any(token.text == "REGIST_MATMUL_OBJ" for token in self.tokens)

    def _read(self) -> None:
        scopes: list[bool] = []
        """For each open brace, whether names inside it are global."""
        head = 0
        for index, token in enumerate(self.tokens):
            if token.kind is Kind.DIRECTIVE:
                self.directives.append(index)
            elif token.text == "{":
                self.blocks.append(Block(head, index, all(scopes), bool(scopes)))
                scopes.append(self._is_c_linkage(index))
            elif token.text == "}" and scopes:
                scopes.pop()
            elif token.text == "__global__":
                self._kernel(index, is_global=all(scopes))
            elif token.text == "<<<" and not self.follows(index, "operator"):
                self.launches.append(index)
            if token.kind is Kind.DIRECTIVE or token.text in ("{", "}", ";"):
                head = index + 1

    def _is_c_linkage(self, opened: int) -> bool:
        before = self.previous(opened - 1)
        return before is not None and self.tokens[before].text == '"C"' and self.follows(before, "extern")

    def _kernel(self, index: int, is_global: bool) -> None:
        opened = self._parameters(index)
        name = None if opened is None else self.previous(opened - 1)
        if opened is None or name is None:
            return
        self.global_functions.add(self.tokens[name].text)
        if not is_global or self._is_template(index):
            return
        self.kernel_words.append(name)
        closed = self.match(opened)
        body = self.next(closed + 1)
        if body is None or self.tokens[body].text != "{":
            return
        parameters = tuple(map(_parameter, self._arguments(opened, closed)))
        task_type = self._task_type(body) or self._task_type_of_words(index, name)
        kernel = AscendKernel(self.tokens[name].text, parameters, task_type, self.match(body))
        self.kernels.append(kernel)

    def _parameters(self, index: int) -> int | None:
        """Return the bracket that opens a kernel's parameters; brackets after attributes come before it."""
        for i in range(index, len(self.tokens)):
            if self.tokens[i].text == ";":
                return None
            before = self.previous(i - 1)
            if self.tokens[i].text != "(" or before is None or self.tokens[before].kind is not Kind.NAME:
                continue
            if not self.tokens[before].text.startswith("__"):
                return i
        return None

    def _task_type(self, body: int) -> str | None:
        words = [token.text for token in self.body(body) if not token.blank]
        if "KERNEL_TASK_TYPE_DEFAULT" not in words:
            return None
        return words[words.index("KERNEL_TASK_TYPE_DEFAULT") + 2]

    def _task_type_of_words(self, index: int, name: int) -> str | None:
        """Return the core type that the words between `__global__` and the kernel's name declare, if any."""
        words = "".join(token.text for token in self.tokens[index:name] if not token.blank)
        return next((type for word, type in _TASK_TYPES.items() if word in words), None)

    def _is_template(self, index: int) -> bool:
        for i in range(index, -1, -1):
            if self.tokens[i].text in (";", "}") or self.tokens[i].kind is Kind.DIRECTIVE:
                return False
            if self.tokens[i].text == "template":
                return True
        return False

    def _arguments(self, opened: int, closed: int) -> list[list[Token]]:
        """Split a list in brackets at its commas, without blanks."""
        arguments: list[list[Token]] = [[]]
        depth = 0
        for token in self.tokens[opened + 1 : closed]:
            depth += (token.text in PAIRS or token.text == "<") - (token.text in CLOSERS or token.text == ">")
            if token.text == "," and depth == 0:
                arguments.append([])
            elif not token.blank:
                arguments[-1].append(token)
        return [words for words in arguments if words]


def read_kernels(source: Path) -> AscendSource | None:
    """Read a source, or return None if it has no kernel or does not exist.

    The build reports a missing file.
    """
    try:
        text = source.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    return AscendSource(text, str(source)) if "__global__" in text else None


def _parameter(words: list[Token]) -> KernelParameter:
    return KernelParameter(" ".join(token.text for token in words[:-1]), words[-1].text)
