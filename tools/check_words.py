"""Report docstrings of functions that do not begin with a verb.

    python tools/check_words.py

ruff's D401 knows the verbs in a wrong mood ("Returns"), not the fragments without any ("The kernel, built.").
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PROPERTIES = ("property", "cached_property")
_NO_VERBS = re.compile(
    r"(A|All|An|And|Any|As|At|Because|Both|But|By|Each|Every|For|From|How|If|In|It|Its|No|Not|Of|On|One|Only|Or|Other|Others"
    r"|Some|Such|That|The|Their|These|They|This|Those|To|Under|Unless|What|When|Where|Whether|Which|Who|Whose|With|Without)\b"
)


def fragments(file: Path) -> Iterator[str]:
    """Yield a line for each function of the file whose docstring begins without a verb."""
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if any(ast.unparse(decorator).rpartition(".")[2] in _PROPERTIES for decorator in node.decorator_list):
            continue
        text = ast.get_docstring(node) or ""
        if found := _NO_VERBS.match(text):
            place = f"{file.relative_to(ROOT)}:{node.lineno}"
            yield f"{place}: the docstring of `{node.name}` begins with '{found[0]}', not with a verb"


def main() -> int:
    """Print every fragment, and return 1 if there is one."""
    found = [line for file in sorted((ROOT / "src").rglob("*.py")) for line in fragments(file)]
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
