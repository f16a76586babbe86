"""Functions of the host alone, which a compilation for the kernels alone can leave out."""

from __future__ import annotations

from opbridge.twins.cuda.rewriting.declarations import function_name
from opbridge.twins.cuda.rewriting.source import Source

_SPECIALIZATION = ["template", "<", ">"]
_NOT_COMPILED_ANYWAY = frozenset(
    {"static", "inline", "__inline", "__inline__", "__forceinline__", "constexpr", "consteval", "template", "friend"}
)
"""Words of functions that are compiled only if something calls them."""
_LEFT_ALONE = frozenset({"extern", "operator", "class", "struct", "union", "enum"})
"""Words that may not follow or accompany inline."""


def mark_host_function(source: Source, opened: int) -> None:
    """Mark a function outside of classes, whose body opens here, as one of the host."""
    head = [source.tokens[i] for i in source.head]
    begin = 3 if [token.text for token in head[:3]] == _SPECIALIZATION else 0
    words = {token.text for token in head[begin:]}
    if not words or head[begin].text == "[" or words & (_NOT_COMPILED_ANYWAY | _LEFT_ALONE):
        return
    if function_name(head) == "main" and len(source.scopes) == 1:
        # Kernel names made from functions inside main contain its name, so main keeps it.
        if any(token.text in source.unit.device_words for token in source.body(opened)):
            return
        source.texts[next(i for i in source.head if source.tokens[i].text == "main")] = "OPBRIDGE_TWIN_MAIN"
    first = source.head[begin]
    source.before[first] = f"OPBRIDGE_TWIN_HOST {source.before.get(first, '')}"
