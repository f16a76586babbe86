"""Write opbridge/polynomials.h: the polynomials of least error for the functions of opbridge/math.h.

Each is found by Remez' exchange on a grid, in sixty digits.  Coefficients are rounded one after the other, the lowest
first, and the others are found again around those that are rounded: so the rounded polynomial is nearly as good as the
exact one.  Run it after a change to the table; it prints the error of each in units of the last place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mpmath
import numpy as np
from mpmath import mp, mpf

HEADER = Path(__file__).parents[1] / "src" / "opbridge" / "include" / "opbridge" / "polynomials.h"
TYPES = {"float": (np.float32, 24, "f"), "double": (np.float64, 53, "")}

Real = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Polynomial:
    """A polynomial of `variable`, the argument of the function, that minimizes the error times `weight` to `target`."""

    name: str
    of: str
    """What it stands for, as the header says it."""
    target: Real
    weight: Real
    interval: tuple[mpf, mpf]
    degrees: tuple[int | None, int]
    """For float, where it is used, and for double."""
    ends: tuple[mpf, mpf] | None = None
    """The interval's upper end for each type, where they differ."""


def at_zero(value: Real, limit: str) -> Real:
    return lambda x: value(x) if abs(x) > mpf("1e-25") else mpf(limit)


def root(value: Real) -> Real:
    """Return the values as a function of the square of the argument."""
    return lambda z: value(mpmath.sqrt(z))


mp.dps = 60
half_ln2 = mpmath.log(2) / 2
EIGHTH = mpmath.tan(mpmath.pi / 8)
QUARTER = mpmath.pi / 4


def log_rest(s: mpf) -> mpf:
    return (mpmath.log((1 + s) / (1 - s)) / s - 2) / s**2


def scaled_erfc(x: mpf) -> mpf:
    return (1 + 2 * x) * mpmath.exp(x * x) * mpmath.erfc(x)


POLYNOMIALS = (
    Polynomial(
        "exp_rest",
        "(e^r - 1 - r) / r^2, for |r| up to ln(2) / 2",
        at_zero(lambda r: (mpmath.expm1(r) - r) / r**2, "0.5"),
        lambda r: r**2 / mpmath.exp(r),
        (-half_ln2, half_ln2),
        (4, 9),
    ),
    Polynomial(
        "log_rest",
        "(log((1 + s) / (1 - s)) / s - 2) / z, where z = s^2 and (1 + s) / (1 - s) is up to sqrt(2)",
        at_zero(root(log_rest), str(mpf(2) / 3)),
        lambda z: z / 2,
        (mpf(0), ((mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1)) ** 2),
        (2, 6),
    ),
    Polynomial(
        "pow_rest",
        "((log((1 + s) / (1 - s)) / s - 2) / z - 2 / 3) / z, likewise, and to 65 bits",
        at_zero(root(lambda s: (log_rest(s) - mpf(2) / 3) / s**2), str(mpf(2) / 5)),
        lambda z: z**2 / 2,
        (mpf(0), ((mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1)) ** 2),
        (None, 7),
    ),
    Polynomial(
        "sin_rest",
        "(sin(r) - r) / r^3, where z = r^2 and |r| is up to pi / 4",
        at_zero(root(lambda r: (mpmath.sin(r) - r) / r**3), str(-mpf(1) / 6)),
        at_zero(root(lambda r: r**3 / mpmath.sin(r)), "0"),
        (mpf(0), QUARTER**2),
        (None, 5),
    ),
    Polynomial(
        "cos_rest",
        "(cos(r) - 1 + r^2 / 2) / r^4, where z = r^2 and |r| is up to pi / 4",
        at_zero(root(lambda r: (mpmath.cos(r) - 1 + r**2 / 2) / r**4), str(mpf(1) / 24)),
        root(lambda r: r**4 / mpmath.cos(r)),
        (mpf(0), QUARTER**2),
        (None, 5),
    ),
    Polynomial(
        "tan_rest",
        "(tan(r) - r) / r^3, where z = r^2 and |r| is up to pi / 4",
        at_zero(root(lambda r: (mpmath.tan(r) - r) / r**3), str(mpf(1) / 3)),
        at_zero(root(lambda r: r**3 / mpmath.tan(r)), "0"),
        (mpf(0), QUARTER**2),
        (None, 14),
    ),
    Polynomial(
        "atan_rest",
        "(atan(t) - t) / t^3, where z = t^2 and |t| is up to tan(pi / 8)",
        at_zero(root(lambda t: (mpmath.atan(t) - t) / t**3), str(-mpf(1) / 3)),
        at_zero(root(lambda t: t**3 / mpmath.atan(t)), "0"),
        (mpf(0), EIGHTH**2),
        (4, 10),
    ),
    Polynomial(
        "asin_rest",
        "(asin(t) - t) / t^3, where z = t^2 and |t| is up to 1/2",
        at_zero(root(lambda t: (mpmath.asin(t) - t) / t**3), str(mpf(1) / 6)),
        at_zero(root(lambda t: t**3 / mpmath.asin(t)), "0"),
        (mpf(0), mpf("0.25")),
        (None, 12),
    ),
    Polynomial(
        "sinh_rest",
        "(sinh(x) - x) / x^3, where z = x^2 and |x| is up to 1",
        at_zero(root(lambda x: (mpmath.sinh(x) - x) / x**3), str(mpf(1) / 6)),
        at_zero(root(lambda x: x**3 / mpmath.sinh(x)), "0"),
        (mpf(0), mpf(1)),
        (3, 6),
    ),
    Polynomial(
        "tanh_rest",
        "(tanh(x) - x) / x^3, where z = x^2 and |x| is up to 0.55",
        at_zero(root(lambda x: (mpmath.tanh(x) - x) / x**3), str(-mpf(1) / 3)),
        at_zero(root(lambda x: x**3 / mpmath.tanh(x)), "0"),
        (mpf(0), mpf("0.55") ** 2),
        (4, 10),
    ),
    Polynomial(
        "erf_rest",
        "erf(x) / x - 1, where z = x^2 and |x| is up to 1",
        at_zero(root(lambda x: mpmath.erf(x) / x - 1), str(2 / mpmath.sqrt(mpmath.pi) - 1)),
        at_zero(root(lambda x: x / mpmath.erf(x)), str(mpmath.sqrt(mpmath.pi) / 2)),
        (mpf(0), mpf(1)),
        (6, 12),
    ),
    Polynomial(
        "log_erfc",
        "log(erfc(1 + t)), for t up to where erfc is negligible next to 1",
        lambda t: mpmath.log(mpmath.erfc(1 + t)),
        lambda t: mpmath.erfc(1 + t) / mpmath.erf(1 + t),
        (mpf(0), mpf(5)),
        (7, 17),
        (mpf("2.93"), mpf("4.95")),
    ),
    Polynomial(
        "erfcx_rest",
        "(1 + 2x) * e^(x^2) * erfc(x) - 1, where t is (x - 4) / (x + 4), for x from 1/2 to 28, or 11 for float",
        lambda t: scaled_erfc(4 * (1 + t) / (1 - t)) - 1,
        lambda t: 1 / scaled_erfc(4 * (1 + t) / (1 - t)),
        (mpf("-3.5") / mpf("4.5"), mpf(24) / 32),
        (10, 22),
        (mpf(7) / 15, mpf(24) / 32),
    ),
)


def exchange(target: list[mpf], weight: list[mpf], powers: list[list[mpf]]) -> list[mpf]:
    """Return the coefficients with the least maximum of the weighted error on the grid."""
    unknowns = len(powers)
    count = len(target)
    # The end of the grid with no weight would tell nothing.
    picked = [
        round((count - 1) * (0.5 - 0.5 * np.cos(np.pi * (k + 0.5) / (unknowns + 1)))) for k in range(unknowns + 1)
    ]
    coefficients: list[mpf] = []
    for _ in range(30):
        rows = [[*(weight[i] * powers[k][i] for k in range(unknowns)), mpf(-1) ** at] for at, i in enumerate(picked)]
        wanted = mpmath.matrix([weight[i] * target[i] for i in picked])
        *coefficients, level = mpmath.lu_solve(mpmath.matrix(rows), wanted)
        error = [
            weight[i] * (target[i] - mpmath.fsum(c * powers[k][i] for k, c in enumerate(coefficients)))
            for i in range(count)
        ]
        # The largest error of each run of one sign, the best such alternation of them.
        peaks: list[int] = []
        for i in range(count):
            if peaks and (error[i] > 0) == (error[peaks[-1]] > 0):
                if abs(error[i]) > abs(error[peaks[-1]]):
                    peaks[-1] = i
            else:
                peaks.append(i)
        while len(peaks) > unknowns + 1:
            del peaks[0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1]
        if len(peaks) < unknowns + 1 or max(map(abs, error)) < abs(level) * mpf("1.001"):
            break
        picked = peaks
    return coefficients


def rounded(polynomial: Polynomial, at: int) -> tuple[list[str], float]:
    """Return the coefficients in the header's notation, and their largest error in units of the last place."""
    number, digits, suffix = list(TYPES.values())[at]
    degree = polynomial.degrees[at] or 0
    low, high = polynomial.interval[0], (polynomial.ends or (polynomial.interval[1],) * 2)[at]
    count = 40 * (degree + 2)
    grid = [(low + high) / 2 - (high - low) / 2 * mpmath.cos(mpmath.pi * (i + mpf(0.5)) / count) for i in range(count)]
    weight = [polynomial.weight(x) for x in grid]
    left = [polynomial.target(x) for x in grid]
    powers = [[x**k for x in grid] for k in range(degree + 1)]
    texts = []
    exact = exchange(left, weight, powers)
    for k in range(degree + 1):
        # To find the others again, no power that is left may change its sign.
        value = number(float(exact[k] if low < 0 else exchange(left, weight, powers[k:])[0]))
        texts.append(repr(float(str(value))))
        left = [each - mpf(float(value)) * power for each, power in zip(left, powers[k], strict=True)]
    error = max(abs(w * e) for w, e in zip(weight, left, strict=True))
    return [f"{text}{suffix}" for text in texts], float(error * mpf(2) ** digits)


def spelled(type_: str, polynomial: Polynomial, texts: list[str]) -> str:
    variable = next((name for name in "zt" if re.search(rf"\b{name} (?:=|is) |[+/] {name}\b", polynomial.of)), "r")
    nested = texts[-1]
    for text in reversed(texts[:-1]):
        nested = f"{text} + {variable} * ({nested})" if nested is not texts[-1] else f"{text} + {variable} * {nested}"
    return f"OB_ALWAYS_INLINE {type_} {polynomial.name}({type_} {variable}) {{ return {nested}; }}\n"


def main() -> None:
    parts = []
    for polynomial in POLYNOMIALS:
        parts.append(f"\n// {polynomial.of}.\n")
        for at, type_ in enumerate(TYPES):
            if polynomial.degrees[at] is None:
                continue
            texts, error = rounded(polynomial, at)
            print(f"{polynomial.name:10} {type_:7} {len(texts):3} coefficients, {error:.4f} ulp", flush=True)
            parts.append(spelled(type_, polynomial, texts))
    HEADER.write_text(_BEGIN + "".join(parts) + two_over_pi() + _END)


def array(name: str, about: str, numbers: list[float]) -> str:
    return f"\n// {about}\nconstexpr double {name}[] = {{{', '.join(map(repr, numbers))}}};\n"


def two_over_pi() -> str:
    """Return the constants as separate arrays, because g++ gathers only from arrays."""
    with mpmath.workdps(400):
        high, low = [], []
        for dropped in range(104):
            kept = mpmath.frac(2 / mpmath.pi * 2**dropped)
            first = mpf(int(kept * 2**29)) / 2**29
            high.append(float(first / 2**dropped))
            low.append(float((kept - first) / 2**dropped))
        thirds: tuple[list[float], ...] = ([], [], [])
        for dropped in range(0, 31 * 32, 32):
            left = mpmath.frac(2 / mpmath.pi * mpf(2) ** dropped) / mpf(2) ** (dropped - (128 if dropped >= 512 else 0))
            for third in thirds:
                third.append(float(left))
                left -= mpf(third[-1])
    for_float = "2 / pi without the bits that are worth 2^-n and more: 29 bits of it, and what follows."
    for_double = "2 / pi without the bits that are worth 2^-32n and more, in three parts; times 2^128 from n = 16 on."
    return (
        array("two_over_pi_high", for_float, high)
        + array("two_over_pi_low", "", low).replace("// \n", "")
        + array("two_over_pi_first", for_double, thirds[0])
        + array("two_over_pi_second", "", thirds[1]).replace("// \n", "")
        + array("two_over_pi_third", "", thirds[2]).replace("// \n", "")
    )


_BEGIN = """\
// The polynomials of opbridge/math.h.  Written by tools/minimax.py, which describes the method.
//
// Reference: Remez' exchange, and coefficients that are rounded one by one, as in Muller, Elementary Functions, on
// polynomial approximations.
#ifndef OPBRIDGE_POLYNOMIALS_H
#define OPBRIDGE_POLYNOMIALS_H

#include <opbridge/dtype.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {
"""
_END = """
}  // namespace detail
}  // namespace ob
#endif
"""

if __name__ == "__main__":
    main()
