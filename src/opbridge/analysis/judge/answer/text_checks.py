"""Examine the text of an answer before it runs."""

from __future__ import annotations

import ast
import re

from opbridge.analysis.judge.answer.formats import LAUNCHES, AnswerFormat, Launches, python_texts
from opbridge.analysis.judge.judgement import Judgement, Reason, Verdict
from opbridge.analysis.judge.verdict.tampering import written

_HAS_DERIVATIVES = re.compile(r"\bautograd\s*(\.|::)\s*Function\b|\bregister_autograd\b")


def has_gradients(source: str) -> bool:
    """Return whether the answer defines its own derivatives."""
    return _HAS_DERIVATIVES.search(source) is not None


def seen_in(form: AnswerFormat, name: str, source: str) -> Judgement | None:
    """Return the judgement that the text alone justifies; None if the answer has to run."""
    try:
        if form == LAUNCHES:
            Launches.parse(source)
    except ValueError as error:
        return _broken("json", f"it is no answer with launches of its own: {error}", f"{name}:1")
    for file, text in python_texts(form, name, source):
        if seen := _seen_in_python(file, text):
            return seen
    return None


def _seen_in_python(name: str, source: str) -> Judgement | None:
    try:
        looks = written(source, name)
    except (SyntaxError, ValueError) as error:
        return _broken("python", f"it is not Python: {error}", f"{name}:{getattr(error, 'lineno', None) or 1}")
    if looks:
        return Judgement(Verdict.CHEATING, tuple(looks))
    if _imports(source, "triton"):
        reason = Reason("triton", "its kernels are Triton's, which no twin runs", "write them in CUDA, or use a GPU")
        return Judgement(Verdict.UNDECIDED, (reason,))
    return None


def _broken(check: str, message: str, place: str) -> Judgement:
    return Judgement(Verdict.BROKEN, (Reason(check, message, "correct it", place),))


def _imports(source: str, package: str) -> bool:
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.partition(".")[0] == package for name in names):
            return True
    return False
