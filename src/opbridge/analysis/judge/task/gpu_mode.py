"""Read tasks and answers of GPU MODE: `task.yml` with `reference.py` next to it, and `submission.py`.

They become the text of a KernelBench task and of an answer to it. The arguments of `generate_input` in the first
benchmark become sizes. Lines of both sources stay where they are.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from opbridge.base.errors import InputError
from opbridge.base.safe_open import read_file

TASK = "task.yml"
"""The name of the file that such a task has."""
_REFERENCE, _SEED = "reference.py", "seed"
_TYPES = ("input_t", "output_t", "TestSpec")
_ON_GPU = re.compile(r"""(["'])cuda(?::\d+)?\1""")
_HEAD = "import copy, torch"


def task_of(path: Path) -> str:
    """Return the text of the task; raise InputError if it is not one, or has no numbers for its sizes."""
    given = _first_case(path)
    sizes = {name: value for name, value in given.items() if name != _SEED}
    bad = [name for name, value in sizes.items() if not name.isidentifier() or isinstance(value, (list, dict))]
    if bad:
        raise InputError(f"{path}: {bad[0]} is {sizes[bad[0]]!r}; expected a number or a text")
    named = [f"{name}={name}" for name in sizes]
    named += [f"{_SEED}=int(torch.randint(1 << 30, ()))"] * (_SEED in given)
    source = _ON_GPU.sub('"cpu"', _source(path.parent / _REFERENCE))
    lines = [source, _HEAD, *(f"{name} = {value!r}" for name, value in sizes.items()), _model("Model", "ref_kernel")]
    lines += [_INPUTS.format(", ".join(named))]
    return "\n".join([*lines, "def get_init_inputs():\n    return []", ""])


_INPUTS = """
def get_inputs():
    # What torch.empty gives may be the result of an earlier call: it is filled with NaN instead.
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        return [generate_input({})]
    finally:
        torch.use_deterministic_algorithms(False)
"""


def answer_of(path: Path) -> str:
    """Return the text of the answer; raise InputError if it is not Python."""
    return "\n".join([_source(path), _HEAD, _model("ModelNew", "custom_kernel"), ""])


def _model(name: str, function: str) -> str:
    """Return the class of a model: functions may write to their arguments, which are copies."""
    call = f"return {function}(copy.deepcopy(data))"
    return f"class {name}(torch.nn.Module):\n    def forward(self, data):\n        {call}\n"


def _first_case(path: Path) -> dict[str, Any]:
    import yaml

    try:
        found = yaml.safe_load(_text(path))
        return dict((found.get("benchmarks") or found["tests"])[0])
    except (yaml.YAMLError, KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path} is not a task of GPU MODE: expected `tests` or `benchmarks`: {error!r}") from None


def _source(path: Path) -> str:
    """Return a source that imports nothing from the files that GPU MODE adds."""
    text = _text(path)
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError) as error:
        raise InputError(f"{path} is not Python: {error}") from None
    lines = text.splitlines()
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module in ("task", "utils"):
            made = "; ".join(_stand_in(path, node.module, alias) for alias in node.names)
            lines[node.lineno - 1 : node.end_lineno] = [made, *[""] * ((node.end_lineno or 0) - node.lineno)]
    return "\n".join(lines)


def _stand_in(path: Path, module: str, alias: ast.alias) -> str:
    """Return the statement that defines what is imported: types that nobody checks, and helpers of the comparison."""
    name = alias.asname or alias.name
    if module == "task" and alias.name not in _TYPES:
        raise InputError(f"{path} imports {alias.name} from task.py", hint=f"expected one of {', '.join(_TYPES)}")
    if module == "task":
        return f"{name} = object"
    if alias.name == "DeterministicContext":
        return f"from contextlib import nullcontext as {name}"
    return f"{name} = lambda *given, **named: None"


def _text(path: Path) -> str:
    try:
        return read_file(path).decode("utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
