"""Variables of device code: those in shared memory, and those that the checks know by name."""

from __future__ import annotations

from collections.abc import Iterable

from opbridge.build.cxx.tokens import Kind, Token
from opbridge.twins.cuda.rewriting.declarations import declared_names, extents, pointer_to_function, specifiers
from opbridge.twins.cuda.rewriting.source import Source, outside_of_brackets

VARIABLE_WORDS = frozenset({"__device__", "__constant__", "__managed__"})


def declare_shared(source: Source, end: int) -> None:
    """Rewrite the declaration of a __shared__ variable that ends here."""
    first = source.head[0]
    tokens = [source.tokens[i] for i in source.head]
    names = declared_names(tokens, skipped={*source.unit.shared_words, "__align__", "alignas", "extern", "static"})
    if not names:
        raise source.refusal(first, "expected the name of a variable after __shared__")
    if any(token.text == "=" for token in tokens):
        raise source.refusal(first, "a __shared__ variable cannot be initialized where it is declared")
    is_dynamic = any(token.text == "extern" for token in tokens)
    if source.in_macro and ("\n" in "".join(source.texts[first : end + 1]) or not is_dynamic):
        raise source.refusal(first, "__shared__ in a macro: declare the variable outside of it")
    if is_dynamic:
        _declare_dynamic(source, first, end, tokens, names[0])
    else:
        _declare_static(source, first, end, names)


def _declare_dynamic(source: Source, first: int, end: int, tokens: list[Token], name: str) -> None:
    kind = specifiers(tokens, name) + extents(tokens, name)
    memory = f"::opbridge_twin::dynamic_shared<{kind}>()"
    declaration = f"auto& {name} = {memory};" if _is_taken_whole(source, name) else f"auto* const {name} = {memory};"
    lines = "".join(source.texts[first : end + 1]).count("\n")
    source.erase(first, end)
    if source.in_function() or source.in_macro:
        source.texts[first] = declaration + "\n" * lines
    else:
        source.texts[first] = "\n" * lines
        source.unit.shared[source.namespace(), name] = declaration


def _is_taken_whole(source: Source, name: str) -> bool:
    """Return whether the address of the array itself is used, as in reinterpret_cast<T&>(s) and &s.

    Otherwise a pointer suffices, which lambdas can copy.
    """
    texts = [token.text for token in source.tokens if not token.blank]
    mentions = (i for i, text in enumerate(texts[:-1]) if text == name)
    return any(
        (texts[i - 1] == "&" and texts[i + 1] != "[") or (texts[i - 3 : i] == ["&", ">", "("] and texts[i + 1] == ")")
        for i in mentions
    )


def _declare_static(source: Source, first: int, end: int, names: list[str]) -> None:
    number = source.unit.number()
    kind, block = f"opbridge_twin_shared_{number}", f"opbridge_twin_block_{number}"
    for i in source.head:
        if source.tokens[i].text in ("__shared__", "static"):
            source.texts[i] = ""
    use = f'auto& {block} = ::opbridge_twin::shared<{kind}>("{", ".join(names)}");'
    use += "".join(f" auto& {name} = {block}.{name};" for name in names)
    source.before[first] = f"{source.before.get(first, '')}struct {kind} {{ "
    source.texts[end] = "; };"
    if source.in_function():
        source.texts[end] += " " + use
    else:
        source.unit.shared |= {(source.namespace(), name): use for name in names}


def shared_used(source: Source, opened: int) -> Iterable[str]:
    """Return the declarations of the outer __shared__ variables that a function uses."""
    if not source.unit.shared:
        return []
    # A parameter or a member of the same name hides the variable.
    hidden = {source.tokens[i].text for i in source.head} | _members(source)
    names = _mentioned(source, opened) - hidden
    return dict.fromkeys(text for name, text in _visible(source).items() if name in names)


def _visible(source: Source) -> dict[str, str]:
    """Return the visible declarations by name; the innermost namespace wins."""
    here, shared = source.namespace(), source.unit.shared
    outer_first = sorted(shared, key=lambda declared: len(declared[0]))
    return {name: shared[around, name] for around, name in outer_first if here[: len(around)] == around}


def _mentioned(source: Source, opened: int) -> set[str]:
    """Return the names in a body that are not members, unlike `y` in threadIdx.y."""
    names: set[str] = set()
    before = ""
    for token in source.body(opened):
        if token.kind is Kind.NAME and before not in (".", "->"):
            names.add(token.text)
        before = before if token.blank else token.text
    return names


def _members(source: Source) -> set[str]:
    """Return the names that the enclosing class may declare: all names outside of its functions."""
    scope = source.scopes[-1]
    if scope.kind != "class" or not scope.head:
        return set()
    names: set[str] = set()
    depth = 0
    for token in source.body(scope.head[-1]):
        depth += (token.text == "{") - (token.text == "}")
        if depth == 1 and token.kind is Kind.NAME:
            names.add(token.text)
    return names


def announce_variable(source: Source, end: int) -> None:
    """Register a device variable with the checks by its name."""
    tokens = [source.tokens[i] for i in source.head]
    outside = outside_of_brackets([token.text for token in tokens])
    before_value = outside[: outside.index("=")] if "=" in outside else outside
    is_function = ")" in before_value and not {"__align__", "alignas"} & set(before_value)
    if {"template", "using"} & set(outside):
        return
    announce = "OPBRIDGE_TWIN_CONSTANT" if "__constant__" in outside else "OPBRIDGE_TWIN_VARIABLE"
    if pointer := pointer_to_function(tokens):
        source.texts[end] += f" {announce}({pointer}, {source.unit.number()})"
        source.unit.own_variables.add(pointer)
        return
    if is_function:
        return
    for name in declared_names(tokens, skipped={*VARIABLE_WORDS, "__align__", "alignas", "static"}):
        source.unit.harmless.variables.add(name)
        source.unit.own_variables.add(name)
        source.texts[end] += f" {announce}({name}, {source.unit.number()})"
        if source.unit.is_image:
            known = "" if source.namespace() else name
            source.texts[end] += f' OPBRIDGE_TWIN_VARIABLE_OF_IMAGE({source.unit.number()}, {name}, "{known}")'


def announce_static(source: Source, end: int) -> None:
    """Register a static variable of a device function; constants need none, because any thread may read them."""
    tokens = [source.tokens[i] for i in source.head]
    texts = [token.text for token in tokens]
    if "constexpr" in texts or ("const" in texts and "*" not in texts):
        return
    for name in declared_names(tokens, skipped={*VARIABLE_WORDS, "__align__", "alignas", "static"}):
        source.texts[end] += f" OPBRIDGE_TWIN_STATIC({name}, {source.unit.number()})"
