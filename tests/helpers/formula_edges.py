"""Every function of elements as a formula, to be computed at edges, and what PyTorch has otherwise there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tests.helpers.formula_differences import Difference, inf

from opbridge.waist.formulas.functions import FUNCTIONS

CONDITIONS = {"where": "where(x > y, x, y)", "astype": "astype(x * 2, float32)"}


def has_y(text: str) -> bool:
    return re.search(r"\by\b", text) is not None


def _call(name: str, arity: int) -> str:
    operands = ["x > 0", "y > 0"] if FUNCTIONS[name].takes_truth else ["x", "y"]
    return CONDITIONS.get(name) or f"{name}({', '.join(operands[:arity])})"


ELEMENTS: Mapping[str, str] = {
    **{name: _call(name, function.arity) for name, function in FUNCTIONS.items() if function.is_public},
    "silu": "silu(x)",
    "clip": "clip(x, -1, 2.5)",
    "clip_by_tensor": "clip(x, y, 2.5)",
    "clip_below": "clip(x, max=y)",
    **{f"power{place}": f"x ** {power}" for place, power in enumerate(("0", "1", "2", "3", "-1", "-2", "0.5", "-0.5"))},
    "power_of_two": "2 ** x",
    "power_of_zero": "0 ** x",
    "self_power": "x ** x",
    "zero_added": "0.0 + x",
    "nothing_added": "x + 0",
    "nothing_taken": "x - 0",
    "taken_from_zero": "0 - x",
    "zeros": "where(x > 0, 0.0, -0.0)",
    "by_zeros": "1 / where(x > 0, 0.0, -0.0)",
    "negatives": "-(-x) * -y",
    "brackets": "x * (y * x) + (x + (y + x))",
}


def _at(difference: Difference, place: int) -> float:
    return difference.at[place] if place < len(difference.at) else 0.0


KNOWN: Mapping[str, Callable[[Difference], bool]] = {
    "sigmoid": lambda found: _at(found, 0) < -80,
    "silu": lambda found: _at(found, 0) < -80,
    "softplus": lambda found: _at(found, 0) > 20,
    "remainder": lambda found: 0 < abs(_at(found, 1)) < 1e-37,
    "pow": lambda found: "0.5" in found.text and _at(found, 0) in (0.0, -inf),
    "clip": lambda found: found.ours == found.theirs == 0 or ("gradient of y" in found.what and _at(found, 1) == 2.5),
    "sinh": lambda found: abs(_at(found, 0)) > 88 and abs(found.theirs) == inf,
    "cosh": lambda found: abs(_at(found, 0)) > 88 and abs(found.theirs) == inf,
    "maximum": lambda found: found.ours == found.theirs == 0,
    "minimum": lambda found: found.ours == found.theirs == 0,
}
"""What docs/formula.md names, and where."""


def is_known(name: str, difference: Difference) -> bool:
    words = {"power6": "pow", "power7": "pow", "clip_by_tensor": "clip", "clip_below": "clip"}
    known = KNOWN.get(words.get(name, name))
    return known is not None and known(difference)
