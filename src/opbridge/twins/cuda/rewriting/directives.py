"""Preprocessor directives: conditions that ask for device code, headers that the twin lacks, and macros."""

from __future__ import annotations

import re

from opbridge.build.cxx.tokens import Kind, tokenize
from opbridge.twins.common.rewritten_sources import INCLUDE_LINE
from opbridge.twins.cuda.missing_headers import (
    CUTLASS,
    MISSING_CCCL,
    MISSING_CUTLASS,
    cccl_part,
    refused_header,
    unsupported,
)
from opbridge.twins.cuda.rewriting.guards import is_plain
from opbridge.twins.cuda.rewriting.replaced_words import ARCHITECTURE, NOINLINE
from opbridge.twins.cuda.rewriting.source import Source
from opbridge.twins.cuda.rewriting.translation_unit import Unit

_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*__CUDA_ARCH__\s*\)|__CUDA_ARCH__\b)")
_IF_DEFINED = re.compile(r"#(\s*)if(n?)def(\s+)__CUDA_ARCH__\b")
_DEPTH = {"if": 1, "ifdef": 1, "ifndef": 1, "endif": -1}
_MACRO = re.compile(r"#\s*define\s+(\w+)(?:\([^)]*\))?")
_OF_CUDA = re.compile(r"<<\s*<|__(?:global|shared|device)__|\b__asm|\basm\b|\b__builtin_mem")


def device_condition(text: str) -> str:
    """Rewrite a condition for device code, where __CUDA_ARCH__ is defined."""
    text = _IF_DEFINED.sub(lambda m: f"#{m[1]}if{m[3]}{0 if m[2] else 1}", text)
    return re.sub(r"\b__CUDA_ARCH__\b", str(ARCHITECTURE), _DEFINED.sub("1", text))


def chooses_device_code(source: Source, index: int) -> bool:
    """Return whether the condition that begins here encloses only device functions.

    Only the pass over device code sees such functions.
    """
    head: set[str] = set()
    functions, depth, i = 0, 1, index
    while depth and (i := i + 1) < len(source.tokens):
        token = source.tokens[i]
        if token.kind is Kind.DIRECTIVE:
            depth += _DEPTH.get(token.text.lstrip("# \t").partition(" ")[0].strip(), 0)
            if _MACRO.match(token.text) or INCLUDE_LINE.match(token.text):
                return False
        elif token.text in (";", "{"):
            if "__host__" in head or not head & source.unit.device_words:
                return False
            functions, head = functions + 1, set()
        elif not token.blank:
            head.add(token.text)
        if token.text in ("(", "{"):
            i = source.match(i)
    return functions > 0 and not head


def include(text: str, unit: Unit) -> str:
    """Rewrite an #include: name the rewritten file, or fail for a header that the twin lacks."""
    named = INCLUDE_LINE.match(text)
    if named is None:
        return text
    header = named["name"][1:-1]
    if replacement := unit.include(named["name"]):
        return text[: named.start("name")] + f'"{replacement}"' + text[named.end() :]
    if CUTLASS.fullmatch(header) and not any((folder / header).is_file() for folder in unit.folders):
        return f"#error {MISSING_CUTLASS}"
    if feature := refused_header(header):
        return f"#error {unsupported(feature)}"
    if not unit.has_cccl and (feature := cccl_part(header)):
        return f"#error {MISSING_CCCL.format(feature)}"
    return text


def with_includes(text: str, unit: Unit) -> str:
    """Rewrite only the includes of a file."""
    return INCLUDE_LINE.sub(lambda line: include(line[0], unit), text)


def macro(text: str, unit: Unit) -> tuple[str, int | None]:
    """Rewrite a macro definition; return it, and where the part begins that must be rewritten as a source."""
    text = re.sub(r"(?<![(,\w])(\s*)\b__noinline__\b", rf"\1{NOINLINE}", text)
    found = _MACRO.match(text)
    if found is None:
        return text, None
    name, body = found[1], text[found.end() :]
    tokens = [token for token in tokenize(body, directives=False) if not token.blank]
    if not is_plain(tokens, unit.opaque):
        unit.opaque.add(name)
    unit.harmless.note_macro(name, [token.text for token in tokens])
    words = set(re.findall(r"\w+", body))
    if not _OF_CUDA.search(text) and not ("void" in words and words & unit.kernels):  # as in `(void*)kernel`
        return text, None
    if "__shared__" in words and ";" not in body:
        unit.shared_words.add(name)
        return text.replace("__shared__", ""), None
    if words & unit.device_words and "{" not in body:
        _note_specifier(name, words, unit)
        return text, None
    return text, found.end()


def _note_specifier(name: str, words: set[str], unit: Unit) -> None:
    """Record a macro that is used as __device__ or __global__."""
    unit.device_words.add(name)
    if words & unit.kernel_words:
        unit.kernel_words.add(name)
