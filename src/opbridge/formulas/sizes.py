"""Sizes that are known at a call, as sums over what they depend on, so that equal ones are equal expressions.

Where a formula takes the k-th part of an axis, `n // k`, that is taken to divide: then `n - n // 2` is `n // 2`, and a
kernel refuses other sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import reduce

from opbridge.rules.syntax import Binary, Expr, Int, Name, Unary

Terms = Counter[Expr]
"""How often each part that no sum goes through is added; the number 1 stands for constants."""
_ONE = Int(1)


def plus(first: Expr, second: Expr, times: int = 1) -> Expr:
    """first + second * times"""
    terms = _terms(first)
    for part, number in _terms(second).items():
        terms[part] += number * times
    return _spelled(terms)


def minus(first: Expr, second: Expr) -> Expr:
    return plus(first, second, -1)


def is_zero(size: Expr) -> bool:
    return size == Int(0)


def divided(size: Expr) -> Iterator[tuple[Expr, int]]:
    """What has to be divided without a rest, and by what."""
    for part in _terms(size):
        match part:
            case Binary("//", whole, Int(divisor)):
                yield whole, divisor


def order(size: Expr, whole: Expr) -> tuple[float, int, int] | None:
    """Where a place lies on an axis that is long: what part of it, how often an argument behind that, how many places.

    None is unknown.  Where an axis is shorter than that takes for granted, a part has a negative size and is refused.
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
    parts.sort(key=lambda item: item[1] < 0)  # one that is added comes first
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
