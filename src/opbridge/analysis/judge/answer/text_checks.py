"""Examine the text of an answer before it runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from opbridge.analysis.judge.answer.formats import LAUNCHES, UNSUPPORTED, AnswerFormat, Launches, python_texts
from opbridge.analysis.judge.answer.suspicious_text import written, written_in_cpp
from opbridge.analysis.judge.judgement import Judgement, Reason, Verdict

_LANGUAGES = {
    "triton": "Triton",
    "tilelang": "TileLang",
    "cutlass": "CuTe DSL",
    "cuda.tile": "cuTile",
    "warp": "Warp",
    "numba.cuda": "Numba",
    "cupy": "CuPy",
    "pycuda": "PyCUDA",
    "hip": "HIP",
    "helion": "Helion",
    "thunderkittens": "ThunderKittens",
}
"""Python packages whose kernels no twin runs, and the language of each."""
_HIP = re.compile(r"#\s*include\s*[<\"]hip/|\bhipLaunchKernelGGL\b")
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
        return _broken("json", f"it is not an answer with its own launches: {error}", f"{name}:1")
    if looks := written_in_cpp(source, name):
        return Judgement(Verdict.CHEATING, tuple(looks))
    suffix = Path(name).suffix
    if suffix in UNSUPPORTED or _HIP.search(source):
        return _of_language(UNSUPPORTED.get(suffix, "HIP"))
    for file, text in python_texts(form, name, source):
        if seen := _seen_in_python(file, text):
            return seen
    return None


def _of_language(language: str) -> Judgement:
    message = f"language not supported: its kernels are in {language}, which no twin runs"
    return Judgement(Verdict.UNDECIDED, (Reason("language", message, "write them in CUDA, or judge it on a GPU"),))


def _seen_in_python(name: str, source: str) -> Judgement | None:
    try:
        looks = written(source, name)
    except (SyntaxError, ValueError) as error:
        return _broken("python", f"it is not Python: {error}", f"{name}:{getattr(error, 'lineno', None) or 1}")
    if looks:
        return Judgement(Verdict.CHEATING, tuple(looks))
    languages = (language for package, language in _LANGUAGES.items() if _imports(source, package))
    return next(map(_of_language, languages), None)


def _broken(check: str, message: str, place: str) -> Judgement:
    return Judgement(Verdict.BROKEN, (Reason(check, message, "correct it", place),))


def _imports(source: str, package: str) -> bool:
    """Return whether a source imports a package, or a name in it."""
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        if any(f"{name}.".startswith(f"{package}.") for name in names):
            return True
    return False
