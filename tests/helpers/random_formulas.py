"""Formulas that nobody wrote, and what is held of each: its value and its gradients of both orders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256

import torch
from hypothesis import strategies as st
from tests.helpers.formula_differences import differences
from tests.helpers.formula_library import formula_library

_ONE = ("sigmoid", "tanh", "sin", "cos", "square", "erf", "atan", "abs", "-", "relu", "softplus", "asinh", "silu")
_REDUCTIONS = ("sum", "mean", "logsumexp", "var", "max", "min")
_LINEAR = ("sum", "mean")
LEAVES = ("x", "y", "x", "a", "2", "0.5")


def formula_texts() -> st.SearchStrategy[str]:
    """Over tensors x and y, of which y broadcasts, and a number a."""
    return st.recursive(st.sampled_from(LEAVES), _grown, max_leaves=8).map("{0} + x * y".format) | _linear()


def _linear() -> st.SearchStrategy[str]:
    """Reductions of what gradients are not computed from."""
    parts = st.sampled_from(["x", "-x", "x + y", "x - y", "2 * x", "x / 3 + y", "where(x > 0, x, y)"])
    return st.builds("{0}({1}, {2})".format, st.sampled_from(_LINEAR), parts, st.sampled_from(["-1", "0", "[0, 1]"]))


def _grown(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{0}({1})".format, st.sampled_from(_ONE), parts),
        st.builds("({1} {0} {2})".format, st.sampled_from("+-*"), parts, parts),
        st.builds("({0} / (1.5 + square({1})))".format, parts, parts),
        st.builds("where({0} > {1} * 0.9, {0}, {2})".format, parts, parts, parts),
        st.builds("maximum({0}, {1} * x)".format, parts, parts),
        st.builds("minimum({0}, {1} + y)".format, parts, parts),
        st.builds("clip({0}, -0.7, 0.8)".format, parts),
        st.builds("atan2({0}, 1.1 + square({1}))".format, parts, parts),
        st.builds("cumsum(x * y + {0}, -1)".format, parts),
        st.builds("softmax(x * y + {0}, -1)".format, parts),
        # An element's part makes it a reduction of elements, whatever the rest is.
        st.builds("{0}(x * y + {1}, -1, keepdim=True)".format, st.sampled_from(_REDUCTIONS), parts),
    )


def hold_formulas(texts: Sequence[str], namespace: str) -> None:
    """Compiles them once, in double precision, and compares each with what PyTorch makes of its text."""
    namespace += "_" + sha256("\n".join(texts).encode()).hexdigest()[:12]
    number = 0.7
    lib = formula_library({_schema(namespace, place, text, number): text for place, text in enumerate(texts)})
    for place, text in enumerate(texts):
        generator = torch.Generator().manual_seed(place)
        inputs = [torch.randn(shape, dtype=torch.double, generator=generator) for shape in ((3, 4), (4,))]
        op, used = lib[f"f{place}"], inputs[: 1 + _has_y(text)]
        found = list(differences(op, text, used, 1e-6, {"a": number}, 1e-6))
        assert not found, "\n".join(map(str, found[:3]))


def _has_y(text: str) -> bool:
    return re.search(r"\by\b", text) is not None


def _schema(namespace: str, place: int, text: str, number: float) -> str:
    tensors = "Tensor x, Tensor y" if _has_y(text) else "Tensor x"
    return f"{namespace}::f{place}({tensors}, *, float a={number}) -> Tensor"
