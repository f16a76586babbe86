"""The names in a C++ declaration, found by its punctuation alone."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from opbridge.build.cxx.tokens import Kind, Token

_CLASS_WORDS = frozenset({"class", "struct", "union", "enum"})
_WITH_ARGUMENTS = frozenset(
    {"__launch_bounds__", "__maxnreg__", "__cluster_dims__", "__align__", "alignas", "__attribute__", "decltype"}
)
_OPENERS, _CLOSERS = frozenset("([{"), frozenset(")]}")


def declared_names(tokens: list[Token], skipped: AbstractSet[str]) -> list[str]:
    """Return the variables that a declaration without its semicolon declares.

    The name in a declarator is the last word before its extents, its initializer or its end, outside of all brackets.
    """
    names: list[str] = []
    last: str | None = None
    depth = 0
    named = False
    in_class = any(token.text in _CLASS_WORDS for token in tokens)
    for position, token in enumerate(tokens):
        text = token.text
        if text in _OPENERS or _opens_template(tokens, position):
            depth += 1
            named = named or (text in ("[", "{") and last is not None)
        elif text in _CLOSERS or (text == ">" and depth > 0):
            depth -= 1
            if text == "}" and in_class:
                last, named, in_class = None, False, False
        elif depth == 0:
            if text == "," and last is not None:
                names.append(last)
                named = False
            elif text == "=":
                named = True
            elif token.kind is Kind.NAME and text not in skipped | _CLASS_WORDS and not named:
                last = text
    return [*names, last] if last is not None else names


def _may_name(token: Token) -> bool:
    return token.kind is Kind.NAME and token.text not in _WITH_ARGUMENTS


def function_name(tokens: list[Token]) -> str | None:
    """Return the name before the parameters in a function's head."""
    depth = 0
    for position, token in enumerate(tokens):
        before = tokens[position - 1] if position else None
        if token.text == "(" and depth == 0 and before is not None and _may_name(before):
            return before.text
        if token.text in _OPENERS or _opens_template(tokens, position):
            depth += 1
        elif token.text in _CLOSERS or (token.text == ">" and depth > 0):
            depth -= 1
    return None


def pointer_to_function(tokens: list[Token]) -> str | None:
    """Return the variable of a function pointer or an array of them, as `chosen` in `int (*chosen)(int)`."""
    for position, token in enumerate(tokens[:-2]):
        if token.text == "=":
            break
        if token.text == "(" and tokens[position + 1].text == "*":
            names = (following.text for following in tokens[position + 2 :] if following.text not in ("const", "*"))
            return next(names, None)
    return None


def specifiers(tokens: list[Token], name: str) -> str:
    """Return the element type in a declaration of dynamic shared memory."""
    kept: list[str] = []
    skip = 0
    for position, token in enumerate(tokens):
        if skip:
            skip += (token.text == "(") - (token.text == ")")
            skip = skip if skip > 1 or token.text != ")" else 0
            continue
        if token.text == name and _ends(tokens, position):
            break
        if token.text in ("__align__", "alignas"):
            skip = 1
        elif token.text not in ("extern", "__shared__"):
            kept.append(token.text)
    return " ".join(kept)


def extents(tokens: list[Token], name: str) -> str:
    """Return the extents after a declared name: [] and possibly more."""
    for position, token in enumerate(tokens):
        if token.text == name and _ends(tokens, position):
            return "".join(token.text for token in tokens[position + 1 :])
    return ""


def _ends(tokens: list[Token], position: int) -> bool:
    return position + 1 == len(tokens) or tokens[position + 1].text == "["


def _opens_template(tokens: list[Token], position: int) -> bool:
    return tokens[position].text == "<" and position > 0 and tokens[position - 1].kind is Kind.NAME
