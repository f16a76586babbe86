"""Judge the entries named on stdin, a JSON line each, in a separate process, so that a crash costs one entry."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
from capture import CannotCaptureError, Program, Tensors, dtypes_of, entries, programs

_LONGEST_REASON = 300


def main() -> int:
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    # Output of an operator must not be read as an answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    known = entries()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # MindSpore leaves files where it runs
        for line in sys.stdin:
            task = json.loads(line)
            print(json.dumps(judge(known[task["entry"]], task)), file=answers, flush=True)
    return 0


def judge(entry: Any, task: dict[str, Any]) -> dict[str, Any]:
    """Return how many samples of an entry agree with PyTorch in each framework, and why others do not."""
    checks: dict[str, Counter[str]] = {name: Counter() for name in _CHECKS}
    reasons: dict[str, str] = {}
    for captured in _limited(programs(entry, getattr(torch, task["dtype"])), task["samples"]):
        if isinstance(captured, CannotCaptureError):
            reasons.setdefault("capture", str(captured)[:_LONGEST_REASON])
            for counts in checks.values():
                counts["cannot"] += 1
            continue
        for name, check in _CHECKS.items():
            try:
                judged = check(captured)
            except Exception as error:
                judged = False
                reasons.setdefault(name, f"{type(error).__name__}: {_summary(error)}")
            if judged is not None:
                checks[name]["passed" if judged else "failed"] += 1
    return task | {"checks": checks, "reasons": reasons}


def _limited(captured: Iterator[Any], most: int | None) -> Iterator[Any]:
    for count, program in enumerate(captured):
        if count == most:
            return
        yield program


def _summary(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" -")]
    return " ".join(lines)[:_LONGEST_REASON]


def _numpy(program: Program) -> bool:
    import execution

    return _agree(program, execution.in_numpy(program), program.expected)


def _mindspore(program: Program) -> bool:
    import execution

    return _agree(program, execution.in_mindspore(program), program.expected)


def _mindspore_gradient(program: Program) -> bool | None:
    import execution

    if not program.differentiable:
        return None
    return _agree(program, execution.gradients_in_mindspore(program), program.gradients)


def _agree(program: Program, found: Tensors, expected: Tensors) -> bool:
    if len(found) != len(expected):
        raise AssertionError(f"{len(found)} results, PyTorch has {len(expected)}")
    for ours, theirs in zip(found, expected, strict=True):
        if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
            raise AssertionError(f"{ours.dtype} {list(ours.shape)}, PyTorch has {theirs.dtype} {list(theirs.shape)}")
        if not program.uninitialised:
            torch.testing.assert_close(ours, theirs, equal_nan=True)
    return True


_CHECKS: dict[str, Callable[[Program], bool | None]] = {
    "numpy": _numpy,
    "mindspore": _mindspore,
    "mindspore gradient": _mindspore_gradient,
}


def tasks(only: Callable[[str], bool], samples: int | None) -> list[dict[str, Any]]:
    return [
        {"entry": name, "dtype": str(dtype).removeprefix("torch."), "samples": samples}
        for name, entry in entries().items()
        if only(name)
        for dtype in dtypes_of(entry)
    ]


if __name__ == "__main__":
    sys.exit(main())
