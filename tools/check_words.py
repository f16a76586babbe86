"""Report words that the project does not use, in documentation, docstrings, messages and help texts.

    python tools/check_words.py

Docstrings of functions must begin with a verb in the imperative.  ruff's D401 knows some verbs in a wrong mood
("Returns"), and no fragments without a verb ("The kernel, built.").  Docstrings of classes, properties and attributes
may begin with a noun, but not with a preposition ("By path.").
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PROPERTIES = ("property", "cached_property")
_AT_THE_ROOT = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md")
_NO_VERBS = re.compile(
    r"(A|All|An|And|Any|As|At|Because|Both|But|By|Each|Every|For|From|How|If|In|It|Its|No|Not|Of|On|One|Only|Or|Other|Others"
    r"|Some|Such|That|The|Their|These|They|This|Those|To|Under|Unless|What|When|Where|Whether|Which|Who|Whose|With|Without)\b"
)
_THIRD_PERSON = re.compile(r"(?!Alias|Bias)[A-Z][a-z]*(?<![su])s\b")
_NO_NOUNS = re.compile(r"(And|As|But|By|Of|Or)\b")
_OWNERS = "PyTorch|MindSpore|JAX|Paddle|NumPy|Ray|CUDA|NVIDIA"
BANNED = (
    (r"\b(?:held|holds?|holding)\b[^.;:|]{0,60}\bagainst\b", "compare with"),
    (r"\bmend(?:s|ed|ing)?\b", "fix"),
    (r"\bas ever\b", "as usual"),
    (r"\bof whom\b", "a name in place of the pronoun"),
    (r"\b(?:say|says|said) so\b", "report"),
    (r"\b(?:told|tells?|telling) of\b", "report"),
    (r"\bmostly\b", "usually"),
    (r"\bbeside\b", "next to"),
    (r"\bbehind\b", "after"),
    (r"\bfor ever\b", "forever"),
    (r"\bby way of\b", "through"),
    (r"\b(?:lends?|lent)\b", "share, or support"),
    (r"\bbrings?\b", "add, have or require"),
    (rf"\ban? \w+ of (?:{_OWNERS})'s\b", "a compound, as in `a PyTorch operator`"),
    (r"^ *to do[: ] ", "hint"),
    (r"\b(?:is|are|was|were) told\b(?! of)", "receive, see or learn"),
    (r"\bin the place of\b", "in place of, or instead of"),
    (r"\b(?:somebody|whoever)\b", "a user, or others"),
    (r"\bgo(?:es)? on \w+ing\b", "continue"),
    (r"\bas it stands\b", "unchanged"),
    (r"\b(?:has|have) to be\b", "must be"),
    (r"\b(?:has|have) not got\b", "lack"),
    (r"\bnot to be had\b", "not available"),
    (r"\b(?:said|says?) of (?:a|an|the|each|which|itself)\b", "describe"),
    (r"\bprocess(?:es)? of (?:its|their) own\b", "a separate process"),
    (r"\b(?:its|their) kin\b", "similar"),
    (
        r"(?<!there )\b(?:is|are) no (?!larger|less|limit|longer|more|need|other|proof|reason|room|such|use|way)",
        "is not a",
    ),
)
"""Patterns, and what to write instead."""
_PATTERNS = tuple((re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in BANNED)
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`|\]\([^)]*\)|<!--[^>]*begin -->.*?end -->", re.MULTILINE | re.DOTALL)
_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_COMMENT = re.compile(r"(?:^|\s)//+(.*)")

Text = tuple[str, int, str]
"""A place, its line and what stands there."""


def fragments(file: Path, tree: ast.Module) -> Iterator[str]:
    """Yield a line for each docstring that is a fragment: of a function without a verb, or of others without a noun."""
    for node in ast.walk(tree):
        found, missing = None, "a verb in the imperative"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_property(node):
            text = ast.get_docstring(node) or ""
            found = _NO_VERBS.match(text) or _THIRD_PERSON.match(text)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found, missing = _NO_NOUNS.match(node.value.value), "a noun"
        if found:
            yield f"{file.relative_to(ROOT)}:{node.lineno}: a docstring begins with '{found[0]}', not with {missing}"


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(decorator).rpartition(".")[2] in _PROPERTIES for decorator in node.decorator_list)


def strings(file: Path, tree: ast.Module) -> Iterator[Text]:
    """Yield the docstrings and messages of a Python file; one word alone is a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield str(file.relative_to(ROOT)), node.lineno, _CODE.sub(_blank, node.value)


def literals(file: Path) -> Iterator[Text]:
    """Yield the string literals of a C++ file that hold more than a word."""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if not line.lstrip().startswith("//"):
            found = " ".join(text for text in _LITERAL.findall(line) if " " in text.strip())
            yield str(file.relative_to(ROOT)), number, found


def comments(file: Path) -> Iterator[Text]:
    """Yield the comments of a Python or C++ file."""
    place = os.path.relpath(file, ROOT)
    if file.suffix == ".py":
        with file.open("rb") as source:
            for token in tokenize.tokenize(source.readline):
                if token.type == tokenize.COMMENT:
                    yield place, token.start[0], _CODE.sub(_blank, token.string)
        return
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if found := _COMMENT.search(line):
            yield place, number, _CODE.sub(_blank, found[1])


def prose(file: Path) -> Iterator[Text]:
    """Yield the lines of a page without its code."""
    for number, line in enumerate(_CODE.sub(_blank, file.read_text()).splitlines(), 1):
        yield str(file.relative_to(ROOT)), number, line


def banned(texts: Iterator[Text]) -> Iterator[str]:
    """Yield a line for each banned pattern in the texts."""
    for place, first, text in texts:
        for pattern, instead in _PATTERNS:
            for found in pattern.finditer(text):
                line = first + text.count("\n", 0, found.start())
                yield f"{place}:{line}: '{found[0].strip()}': write {instead}"


def _blank(code: re.Match[str]) -> str:
    return "\n" * code[0].count("\n") or "`"


def _tracked(*patterns: str) -> list[Path]:
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", *patterns]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [ROOT / name for name in sorted(names) if (ROOT / name).exists()]


def findings() -> Iterator[str]:
    """Yield everything that is to be written otherwise."""
    for file in _tracked("src/*.py", "tools/*.py", "benchmarks/*.py", "conformance/*.py", "examples/*.py"):
        tree = ast.parse(file.read_text())
        yield from fragments(file, tree)
        yield from banned(strings(file, tree))
        yield from banned(comments(file))
    for file in _tracked("src/*.cpp", "src/*.h"):
        yield from banned(literals(file))
        yield from banned(comments(file))
    for file in _tracked("docs/*.md", "examples/*.md", *_AT_THE_ROOT, "src/*.md.in"):
        if not file.name.endswith(".zh.md"):
            yield from banned(prose(file))


def main() -> int:
    """Print every finding, and return 1 if there is one."""
    found = list(findings())
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
