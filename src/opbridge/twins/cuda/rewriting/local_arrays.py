"""Local arrays of device code, which checks watch: elements that nobody wrote, and pointers that leave the array."""

from __future__ import annotations

from dataclasses import dataclass

from opbridge.build.cxx.reader import CLOSERS, PAIRS
from opbridge.build.cxx.tokens import Kind
from opbridge.twins.cuda.rewriting.source import Source

_NOT_IN_A_TYPE = frozenset(
    {
        *("static", "extern", "constexpr", "const", "thread_local", "register", "typedef", "using", "friend", "auto"),
        *("return", "delete", "throw", "goto", "case", "default", "else", "do", "new", "operator", "template"),
        *("struct", "class", "union", "enum", "__shared__", "__constant__", "__device__", "__managed__", "decltype"),
    }
)
_IN_A_TYPE = frozenset({"::", "<", ">", ","})
_KEYWORDS = frozenset({"for", "if", "while", "switch", "return", "sizeof"})
_BEFORE_AN_ADDRESS = frozenset({"(", ",", "=", "return", "{", ")", "?", ":", "+", "-"})


@dataclass(frozen=True)
class _Array:
    """A declaration of one local array."""

    name: str
    first: int
    """The first token of the declaration."""
    extents: int
    value: int | None
    """The brace that opens the initializer."""


@dataclass
class _Uses:
    """What the rest of the scope does with an array."""

    escapes: bool = False
    """Whether its address is used, so that a pointer may leave it."""
    is_seen: bool = True
    """Whether the checks see all that may write it, and no copies of elements that nobody uses."""


def watch_valued_array(source: Source, opened: int) -> None:
    """Let the checks know the local array whose initializer begins here."""
    end = source.next(source.match(opened) + 1)
    has_directives = any(token.kind is Kind.DIRECTIVE for token in source.body(opened))
    if end is not None and source.tokens[end].text == ";" and not has_directives:
        watch_local_array(source, end, opened)


def watch_local_array(source: Source, end: int, opened: int | None = None) -> None:
    """Let the checks know the local array whose declaration ends here, unless its words may mean something else.

    `opened` is the brace of an initializer.
    """
    if source.in_macro or source.unit.is_library or source.in_constant_function or not source.head:
        return
    scope = source.scopes[-1]
    if any(source.tokens[i].text == "switch" for i in scope.head) or source.has_labels:
        return
    arrays = _declared(source, opened)
    for array in arrays:
        _watch(source, array, end, is_alone=len(arrays) == 1)


def _watch(source: Source, array: _Array, end: int, *, is_alone: bool) -> None:
    uses = _uses(source, array, end)
    tracks = array.value is None and uses.is_seen
    number, kept = source.unit.number(), "true" if tracks else "false"
    if uses.escapes and is_alone:
        _surround(source, array, end, kept, number)
    elif tracks:
        source.texts[end] += f" OB_TWIN_LOCAL({array.name}, {kept}, {number})"


def _surround(source: Source, array: _Array, end: int, tracks: str, number: int) -> None:
    """Put the array between two pieces of memory that nobody may touch."""
    source.before[array.first] = f"{source.before.get(array.first, '')}OB_TWIN_LOCAL_OPENS "
    if array.value is None:
        source.texts[end] = f" OB_TWIN_LOCAL_CLOSES({array.name}, {tracks}, {number})"
        return
    sign = source.previous(array.value - 1)
    if sign is not None and source.tokens[sign].text == "=":
        source.texts[sign] = f"OB_TWIN_LOCAL_VALUE({number}, =)"
    else:
        source.texts[array.value] = f" OB_TWIN_LOCAL_VALUE({number}, ) {source.texts[array.value]}"
    source.texts[end] = f" OB_TWIN_LOCAL_CLOSES_VALUE({array.name}, {tracks}, {number})"


def _declared(source: Source, opened: int | None) -> list[_Array]:
    """Return the arrays that the current statement declares, if it declares nothing else."""
    head = _without_alignment(source)
    texts = [source.tokens[i].text for i in head]
    if "[" not in texts or _NOT_IN_A_TYPE & set(texts):
        return []
    at = texts.index("[") - 1
    if at < 1 or not all(_is_of_type(source, i) for i in head[: at + 1]) or texts[at - 1] in ("::", ",", "<"):
        return []
    found: list[_Array] = []
    while at < len(texts) and source.tokens[head[0]].kind is source.tokens[head[at]].kind is Kind.NAME:
        extents, behind = 0, at + 1
        while behind < len(texts) and texts[behind] == "[":
            closed = head.index(source.match(head[behind]))
            if closed == behind + 1:
                return []  # the initializer says how many there are
            extents, behind = extents + 1, closed + 1
        if extents == 0:
            return []
        found.append(_Array(texts[at], source.head[0], extents, opened))
        rest = texts[behind:]
        if not rest or rest == ["="]:
            is_whole = not rest if opened is None else len(found) == 1
            return found if is_whole else []
        if rest[0] != ",":
            return []
        at = behind + 1
    return []


def _without_alignment(source: Source) -> list[int]:
    head = source.head
    if source.tokens[head[0]].text in ("alignas", "__align__") and len(head) > 1:
        closed = source.match(head[1])
        return head[head.index(closed) + 1 :] if closed in head[:-1] else head
    return head


def _is_of_type(source: Source, index: int) -> bool:
    token = source.tokens[index]
    return token.kind in (Kind.NAME, Kind.NUMBER) or token.text in _IN_A_TYPE


def _uses(source: Source, array: _Array, end: int) -> _Uses:
    uses = _Uses()
    depth = 0
    for i in range(end + 1, len(source.tokens)):
        token = source.tokens[i]
        depth += (token.text == "{") - (token.text == "}")
        if depth < 0:
            break
        if token.text == array.name and not _is_member(source, i):
            _use(source, array, i, uses)
    return uses


def _is_member(source: Source, index: int) -> bool:
    return any(source.follows(index, word) for word in (".", "->", "::"))


def _use(source: Source, array: _Array, index: int, uses: _Uses) -> None:
    """Note what one mention of an array does."""
    at, count = source.next(index + 1), 0
    while at is not None and source.tokens[at].text == "[":
        at, count = source.next(source.match(at) + 1), count + 1
    if count >= array.extents and not _is_address(source, index):
        is_copy = at is not None and source.tokens[at].text == ";" and source.follows(index, "=")
        before = source.previous(index - 1)
        if is_copy and before is not None and source.follows(before, "]"):
            uses.is_seen = False
        return
    if source.follows(index, "(") and source.follows(source.previous(index - 1) or 0, "sizeof"):
        return
    uses.escapes = True
    uses.is_seen = uses.is_seen and _goes_to_known_code(source, index)


def _is_address(source: Source, index: int) -> bool:
    sign = source.previous(index - 1)
    if sign is None or source.tokens[sign].text != "&":
        return False
    before = source.previous(sign - 1)
    return before is not None and source.tokens[before].text in _BEFORE_AN_ADDRESS


def _goes_to_known_code(source: Source, index: int) -> bool:
    """Return whether the function that gets the address, if one does, is compiled with checks."""
    depth = 0
    for i in range(index - 1, -1, -1):
        text = source.tokens[i].text
        depth += (text in CLOSERS) - (text in PAIRS)
        if text in (";", "}") or (text == "{" and depth < 0):
            return True
        if depth < 0 and text == "(":
            called = source.previous(i - 1)
            if called is None:
                return False
            depth = 0
            token = source.tokens[called]
            if token.text in PAIRS or token.text in (",", "=", "*", "&", ")") or token.text in _KEYWORDS:
                continue  # brackets around a part of an expression
            return token.text == ">" or token.text in source.unit.functions | source.unit.device_functions
    return True
