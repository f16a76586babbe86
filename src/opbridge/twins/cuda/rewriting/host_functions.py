"""Functions of the host alone, which a copy of the source that keeps nothing but its kernels need not compile."""

from __future__ import annotations

from opbridge.twins.cuda.rewriting.declarations import function_name
from opbridge.twins.cuda.rewriting.source import Source

_SPECIALIZATION = ["template", "<", ">"]
_NOT_COMPILED_ANYWAY = frozenset(
    {"static", "inline", "__inline", "__inline__", "__forceinline__", "constexpr", "consteval", "template", "friend"}
)
"""Such functions are only where something calls them."""
_LEFT_ALONE = frozenset({"extern", "operator", "class", "struct", "union", "enum"})
"""What inline may not stand before, or not with."""


def mark_host_function(source: Source, opened: int) -> None:
    """Of a function outside of classes, whose body opens there."""
    head = [source.tokens[i] for i in source.head]
    begin = 3 if [token.text for token in head[:3]] == _SPECIALIZATION else 0
    words = {token.text for token in head[begin:]}
    if not words or head[begin].text == "[" or words & (_NOT_COMPILED_ANYWAY | _LEFT_ALONE):
        return
    if function_name(head) == "main" and len(source.scopes) == 1:
        # The names of kernels made from functions in it would have its own in them.
        if any(token.text in source.unit.device_words for token in source.body(opened)):
            return
        source.texts[next(i for i in source.head if source.tokens[i].text == "main")] = "OPBRIDGE_TWIN_MAIN"
    first = source.head[begin]
    source.before[first] = f"OPBRIDGE_TWIN_HOST {source.before.get(first, '')}"
