"""Check whether one operator can implement another that has its own name and argument names."""

from __future__ import annotations

from opbridge.base.errors import SchemaError
from opbridge.waist.schema import Argument, BaseType, ListType, OptionalType, Return, Schema, Type

DEFAULT = -1
"""The place in an argument order that means the default of the other operator."""

_SCALARS = ("int", "SymInt", "float", "bool")
_INTEGERS = ("int", "SymInt")


def argument_order(own: Schema, other: Schema) -> tuple[int, ...]:
    """Return for each argument of `other` the place of the `own` argument that it gets.

    That is the argument of the same name, or the next one whose name `other` does not have. DEFAULT means that
    there is none.

    Raises:
        SchemaError: The schemas do not fit.
    """
    names = {argument.name for argument in other.arguments}
    by_name = {argument.name: place for place, argument in enumerate(own.arguments)}
    unnamed = iter([place for place, argument in enumerate(own.arguments) if argument.name not in names])
    order = []
    for argument in other.arguments:
        place = by_name.get(argument.name)
        if place is None:
            place = next(unnamed, DEFAULT)
        if place != DEFAULT:
            _check_argument(own.arguments[place], argument, own, other)
        elif argument.default is None:
            raise _misfit(own, other, f"nothing corresponds to its argument '{argument}'")
        order.append(place)
    left = next((argument for place, argument in enumerate(own.arguments) if place not in order), None)
    if left is not None:
        raise _misfit(own, other, f"it has no argument for '{left}'")
    _check_returns(own, other)
    return tuple(order)


def _misfit(own: Schema, other: Schema, reason: str) -> SchemaError:
    return SchemaError(f"{own.full_name} does not fit {other.full_name}: {reason}", hint=f"{own}\n  {other}")


def _check_argument(own: Argument, other: Argument, schema: Schema, target: Schema) -> None:
    if not _fits(own.type, other.type):
        raise _misfit(schema, target, f"'{own.name}' is {own.type}, where it takes {other.type} {other.name}")
    if own.mutable != other.mutable:
        verb = "is written to" if other.mutable else "is not written to"
        raise _misfit(schema, target, f"'{own.name}' {verb} there: expected {other}, got {own}")


def _check_returns(own: Schema, other: Schema) -> None:
    mine, theirs = (tuple(map(_described, schema.returns)) for schema in (own, other))
    if mine != theirs:
        raise _misfit(own, other, f"it returns ({', '.join(map(str, other.returns))})")


def _described(output: Return) -> tuple[str, bool, bool]:
    kind = str(output.type).replace("SymInt", "int")
    return kind, output.alias is not None, output.alias is not None and output.alias.write


def _fits(own: Type, other: Type) -> bool:
    match own, other:
        case OptionalType(elem=mine), OptionalType(elem=theirs):
            return _fits(mine, theirs)
        case _, OptionalType(elem=theirs):
            return _fits(own, theirs)
        case ListType(elem=mine), ListType(elem=theirs):
            return _fits(mine, theirs)
        case BaseType(name=mine_), BaseType(name=theirs_):
            return (
                mine_ == theirs_
                or (mine_ in _INTEGERS and theirs_ in _INTEGERS)
                or (mine_ in _SCALARS and theirs_ == "Scalar")
            )
        case _:
            return False
