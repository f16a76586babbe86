"""Sizes that are known when an operator is called, in a normal form, so that equal sizes are equal expressions.

A size is a sum over the sizes it depends on. If a formula takes the k-th part of an axis, `n // k`, the axis
is assumed to be divisible. Then `n - n // 2` is `n // 2`, and a kernel refuses other sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import reduce

from opbridge.waist.rules.syntax import Binary, Expr, Int, Name, Unary

Terms = Counter[Expr]
"""The factor of each term of a sum; the term 1 stands for constants."""
_ONE = Int(1)


def plus(first: Expr, second: Expr, times: int = 1) -> Expr:
    """Return first + second * times in normal form."""
    terms = _terms(first)
    for part, number in _terms(second).items():
        terms[part] += number * times
    return _spelled(terms)


def minus(first: Expr, second: Expr) -> Expr:
    """Return first - second in normal form."""
    return plus(first, second, -1)


def is_zero(size: Expr) -> bool:
    """Return whether a size is the constant 0."""
    return size == Int(0)


def divided(size: Expr) -> Iterator[tuple[Expr, int]]:
    """Yield the terms that must be divisible, with their divisors."""
    for part in _terms(size):
        match part:
            case Binary("//", whole, Int(divisor)):
                yield whole, divisor


def order(size: Expr, whole: Expr) -> tuple[float, int, int] | None:
    """Return the position of a place on an axis that is long; None if it is unknown.

    The position is a fraction of the axis, the number of arguments added to it, and a constant offset. If the axis
    is too short for the assumed order, a part has a negative size and is refused.
    """
    share, arguments, offset = 0.0, 0, 0
    for part, number in _terms(size).items():
        match part:
            case Int():
                offset += number
            case Binary("//", total, Int(divisor)) if total == whole:
                share += number / divisor
            case Name():
                arguments += number
            case _ if part == whole:
                share += number
            case _:
                return None
    return share, arguments, offset


def _terms(size: Expr) -> Terms:
    match size:
        case Int(value):
            return Counter({_ONE: value})
        case Unary("-", operand):
            return Counter({part: -number for part, number in _terms(operand).items()})
        case Binary("+" | "-" as op, left, right):
            terms = _terms(left)
            for part, number in _terms(right).items():
                terms[part] += number if op == "+" else -number
            return terms
        case Binary("*", Int(factor), other) | Binary("*", other, Int(factor)):
            return Counter({part: number * factor for part, number in _terms(other).items()})
    return Counter({size: 1})


def _spelled(terms: Terms) -> Expr:
    for part in list(terms):
        match part:
            case Binary("//", whole, Int(divisor)) if divisor > 0:
                shares = terms.pop(part) + divisor * terms.pop(whole, 0)
                terms[whole], terms[part] = divmod(shares, divisor)
    constant = terms.pop(_ONE, 0)
    parts = [(part, number) for part, number in sorted(terms.items(), key=lambda item: str(item[0])) if number]
    if not parts:
        return Int(constant) if constant >= 0 else Unary("-", Int(-constant))
    parts.sort(key=lambda item: item[1] < 0)  # begin with a term that is added
    total = reduce(_added, parts[1:], _times(*parts[0]))
    return _added(total, (_ONE, constant)) if constant else total


def _times(part: Expr, number: int) -> Expr:
    if part == _ONE:
        return Int(number)
    if number < 0:
        return Unary("-", _times(part, -number))
    return part if number == 1 else Binary("*", Int(number), part)


def _added(total: Expr, item: tuple[Expr, int]) -> Expr:
    part, number = item
    return Binary("+" if number > 0 else "-", total, _times(part, abs(number)))
