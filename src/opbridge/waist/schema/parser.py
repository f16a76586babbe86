"""The grammar of PyTorch's function schemas, which `Schema.parse` uses."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from itertools import islice

from opbridge.base.errors import Location, SchemaError, did_you_mean
from opbridge.base.names import is_identifier
from opbridge.waist.schema.parts import (
    RESERVED_WORDS,
    Alias,
    Argument,
    BaseType,
    Default,
    EnumName,
    ListType,
    OptionalType,
    Return,
    Type,
)

_INTEGER_TYPES = ("int", "SymInt", "DeviceIndex")
_VALUE_TYPES = (
    "Scalar",
    "float",
    "complex",
    "bool",
    "SymBool",
    "str",
    "ScalarType",
    "Layout",
    "MemoryFormat",
    "Device",
)
_HANDLE_TYPES = ("Generator", "Dimname", "QScheme", "Storage", "Stream", "Quantizer", "ConstQuantizerPtr", "Any")
# One object for each name: thousands of schemas share them, and a lookup is the whole check.
_BASE_TYPES = {name: BaseType(name) for name in ("Tensor", *_INTEGER_TYPES, *_VALUE_TYPES, *_HANDLE_TYPES)}

# Type names that people carry over from C++, Python or NumPy, in lower case.
_TYPE_HABITS = {
    **{name.lower(): name for name in _BASE_TYPES},
    **dict.fromkeys(("double", "float16", "float32", "float64"), "float"),
    **dict.fromkeys(("integer", "long", "int32", "int64", "int32_t", "int64_t", "size_t"), "int"),
    "string": "str",
    "boolean": "bool",
    "number": "Scalar",
    "dtype": "ScalarType",
    "optional": "Tensor?",
    "list": "int[]",
    "intlist": "int[]",
    "intarrayref": "int[]",
    "tensorlist": "Tensor[]",
}

# The literals that each type accepts as a default, and their names in messages.  PyTorch prints enum values as plain
# integers (`MemoryFormat memory_format=0`), so these are accepted as well.
_LITERALS: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(_INTEGER_TYPES, ((int,), "an integer")),
    "float": ((int, float), "a finite number"),
    "Scalar": ((bool, int, float, complex), "a finite number"),
    "complex": ((complex,), "an imaginary number such as 1j"),
    "bool": ((bool,), "True or False"),
    "str": ((str,), "a string in quotes"),
    "Device": ((str,), "a device in quotes"),
    "ScalarType": ((int,), "a dtype's name such as 'float'"),
    "Layout": ((int,), "'strided'"),
    "MemoryFormat": ((int,), "'contiguous_format'"),
}
_ENUM_NAMES: dict[str, tuple[str, ...]] = {
    "int": ("Mean",),
    "ScalarType": (
        *("bool", "uint8", "int8", "short", "int16", "uint16", "int", "int32", "uint32", "long", "int64", "uint64"),
        *("half", "float16", "bfloat16", "float", "float32", "double", "float64"),
        *("chalf", "cfloat", "complex64", "cdouble", "complex128"),
    ),
    "Layout": ("strided",),
    "MemoryFormat": ("contiguous_format",),
}
_LIST_DEFAULTS = frozenset(_BASE_TYPES[name] for name in (*_INTEGER_TYPES, "float", "complex", "bool"))

# A whole `[...]` is one token, and so is a number with adjacent letters (`0x10`, `1_000`). An unclosed quote or bracket
# extends to the end: every alternative matches at the first attempt, so the time is linear in the text.
_TOKEN = re.compile(
    r"""\s*( [A-Za-z_]\w* | -> | :: | \[[^][]*]? | -?\.?\d(?:[eE][+-]|[\w.])*
           | "(?:[^"\\\n]|\\.)*"? | '(?:[^'\\\n]|\\.)*'? | \S )""",
    re.ASCII | re.VERBOSE,
)
_CHARACTER = re.compile(r"[\w(),.:*!?|=+[\]-]", re.ASCII)
_QUOTES = ("'", '"')
_BLANKS = " \t\n\r\f\v"
_STRING = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "t": "\t", "v": "\v", '"': '"', "'": "'", "\\": "\\"}
_INTEGER = re.compile(r"-?\d+", re.ASCII)
_REAL = re.compile(r"-?(?P<mantissa>\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?P<imaginary>j?)", re.ASCII)
_SIZE = re.compile(r"[1-9]\d{0,2}", re.ASCII)
_MOST_LAYERS = 8


class Parser:
    """A recursive-descent parser over the tokens; columns are computed only for an error."""

    def __init__(self, text: str, where: Location | None) -> None:
        self.text = text
        self.where = where
        self.tokens: list[str] = _TOKEN.findall(text.rstrip(_BLANKS))
        self.tokens.append("")
        self.at = 0

    def schema(self) -> tuple[str | None, str, str, tuple[Argument, ...], tuple[Return, ...]]:
        """Parse the whole text; return namespace, name, overload, arguments and returns."""
        namespace = None
        name = self.name("the operator's name")
        if self.accept("::"):
            namespace, name = name, self.name("the operator's name")
        overload = self.overload() if self.accept(".") else ""
        arguments = self.arguments()
        if not self.accept("->"):
            raise self.unexpected("'->' and the returns", "an operator that returns nothing ends with '-> ()'")
        returns = self.returns(arguments)
        if self.tokens[self.at]:
            several = self.tokens[self.at] == ","
            hint = "several returns go in parentheses: '-> (Tensor, Tensor)'" if several else ""
            raise self.unexpected("the end of the schema", hint)
        return namespace, name, overload, arguments, returns

    def overload(self) -> str:
        """Parse the overload name after the dot."""
        overload = self.name("the overload's name")
        if overload == "default" or overload.startswith("__"):
            raise self.error(
                f"PyTorch keeps the overload name '{overload}' for itself", self.at - 1, hint="choose another, or none"
            )
        return overload

    def arguments(self) -> tuple[Argument, ...]:
        """Parse the arguments in parentheses."""
        if not self.accept("("):
            raise self.unexpected("'(' and the arguments")
        if self.accept(")"):
            return ()
        arguments: list[Argument] = []
        names: set[str] = set()
        kwarg_only = False
        while True:
            while self.accept("*"):
                self.star(kwarg_only)
                kwarg_only = True
            argument = self.argument(arguments[-1] if arguments and not kwarg_only else None, kwarg_only, names)
            arguments.append(argument)
            if not self.another():
                return tuple(arguments)

    def star(self, already: bool) -> None:
        """Check the text after a '*', up to the first keyword-only argument."""
        if already:
            raise self.error("'*' comes a second time", self.at - 1, hint="one '*' makes all that follow keyword-only")
        if self.tokens[self.at] == ")":
            raise self.error("no argument follows the '*'", self.at - 1, hint="leave it out, or move it to the left")
        if not self.accept(","):
            raise self.unexpected("',' after '*'")

    def argument(self, previous: Argument | None, kwarg_only: bool, names: set[str]) -> Argument:
        """Parse one argument.

        `previous` is the positional argument on its left; `names` holds the names taken so far.
        """
        type_, alias = self.type()
        at = self.at
        name = self.name(f"a name for the {type_} argument")
        if name in names:
            raise self.error(f"two arguments are named '{name}'", at, hint="rename one of them")
        names.add(name)
        default = self.default(type_) if self.accept("=") else None
        if default is None and not kwarg_only and previous is not None and previous.default is not None:
            raise self.error(
                f"expected a default for '{name}', because '{previous.name}' before it has one",
                at,
                hint=f"give '{name}' a default, move it before '{previous.name}', or put '*, ' before it",
            )
        return Argument(name, type_, default, alias, kwarg_only)

    def returns(self, arguments: tuple[Argument, ...]) -> tuple[Return, ...]:
        """Parse the returns, in parentheses unless there is exactly one."""
        if not self.accept("("):
            return (self.return_(_carriers(arguments)),)
        if self.accept(")"):
            return ()
        returns: list[Return] = []
        names: set[str] = set()
        carriers = _carriers(arguments)
        while True:
            returns.append(self.return_(carriers))
            name = returns[-1].name
            if name in names:
                raise self.error(f"two returns are named '{name}'", self.at - 1, hint="rename one of them")
            names |= {name} if name else set()
            if not self.another():
                return tuple(returns)

    def return_(self, carriers: Mapping[str, list[Argument]]) -> Return:
        """Parse one return; `carriers` maps aliases to the arguments that carry them."""
        at = self.at
        type_, alias = self.type()
        if alias is not None:
            self.check_carried(alias, carriers, at)
        name = self.name("a name for the return") if is_identifier(self.tokens[self.at]) else None
        return Return(name, type_, alias)

    def check_carried(self, alias: Alias, carriers: Mapping[str, list[Argument]], at: int) -> None:
        """Check that a return's alias belongs to an argument.

        PyTorch registers a return that aliases no argument, but then nothing can tell what it shares.
        """
        found = [argument for name in alias.before for argument in carriers.get(name, ())]
        if not found:
            raise self.error(
                f"no argument carries the alias '{alias}' of this return",
                at,
                hint="annotate the argument that the return shares its memory with, or leave the annotation out",
            )
        for argument in found:
            if argument.mutable != alias.write:
                raise self.error(
                    f"expected the alias of this return to be '{argument.alias}' as on argument '{argument.name}', "
                    f"got '{alias}'",
                    at,
                    hint="'!' marks memory that the operator writes to; write it in both places or in none",
                )

    def type(self) -> tuple[Type, Alias | None]:
        """Parse a type with its alias."""
        base = _BASE_TYPES.get(self.tokens[self.at])
        if base is None:
            raise self.unknown_type()
        self.at += 1
        alias = self.alias(base) if self.tokens[self.at] == "(" else None
        type_: Type = base
        layers = 0
        while True:
            token = self.tokens[self.at]
            if token == "?":
                if type_.is_optional:
                    raise self.error(f"'{type_}' is optional already", hint="remove the second '?'")
                type_ = OptionalType(type_)
            elif token[:1] == "[":
                type_ = ListType(self.element(type_), self.size(token))
            elif token == "(" and not type_.is_tensor_like:
                raise self.not_a_tensor(type_)
            elif token == "(":
                raise self.error(
                    f"expected a name for the {type_} argument, got an alias",
                    hint=f"an alias comes right after the base name: '{type_.spelled('(a!)')}'",
                )
            else:
                return type_, alias
            self.at += 1
            layers += 1
            if layers > _MOST_LAYERS:
                raise self.error(f"a type has at most {_MOST_LAYERS} '[]' and '?'", self.at - 1)

    def element(self, type_: Type) -> Type:
        """Check that a type can be a list element: PyTorch allows a sized list only as the outermost one."""
        inner = type_.elem if isinstance(type_, OptionalType) else type_
        if isinstance(inner, ListType) and inner.size is not None:
            raise self.error(f"'{type_}' cannot be the element of a list", hint="leave the inner size out")
        return type_

    def size(self, token: str) -> int | None:
        """Return the size in a `[...]` token, or None."""
        if not token.endswith("]"):
            raise self.unexpected("']'")
        digits = token[1:-1].strip(_BLANKS)
        if not digits:
            return None
        if not _SIZE.fullmatch(digits):
            raise self.error(f"expected a list size from 1 to 999, got '{digits}'", hint="or none: '[]'")
        return int(digits)

    def alias(self, base: BaseType) -> Alias:
        """Parse an alias annotation, such as `(a! -> b|c)`."""
        if not base.is_tensor_like:
            raise self.not_a_tensor(base)
        self.at += 1
        before = self.alias_set()
        write = self.accept("!")
        after: tuple[str, ...] = ()
        if self.accept("->"):
            after = ("*",) if self.accept("*") else self.alias_set()
        if not self.accept(")"):
            raise self.unexpected("')' after the alias")
        return Alias(before, write, after)

    def alias_set(self) -> tuple[str, ...]:
        """Parse alias names separated by `|`."""
        names = [self.name("an alias such as 'a'")]
        while self.accept("|"):
            names.append(self.name("an alias such as 'b'"))
        return tuple(names)

    def default(self, type_: Type) -> Default:
        """Parse the default of an argument."""
        token = self.tokens[self.at]
        inner = type_.elem if isinstance(type_, OptionalType) else type_
        if token == "None" and type_.is_optional:
            value = None
        elif isinstance(inner, BaseType) and inner.name in _LITERALS:
            value = self.literal(token, inner, type_)
        elif isinstance(inner, ListType) and inner is type_ and inner.elem in _LIST_DEFAULTS:
            value = self.list_default(token, inner)
        elif type_.is_optional:
            raise self.unexpected(f"None as the default of {type_}", "leave it out where the caller has to say")
        else:
            raise self.unexpected(f"no default for {type_}", f"an optional one takes None: '{type_}?'")
        self.at += 1
        return Default(token, value)

    def list_default(self, token: str, type_: ListType) -> tuple[object, ...]:
        """Return the default of a list; a sized list also accepts a single item."""
        if token[:1] == "[":
            return self.list_items(token, type_.elem)
        value = self.literal(token, type_.elem, type_)
        if type_.size is None or isinstance(value, EnumName):
            raise self.unexpected(f"a list as the default of {type_}", f"write '[{token}]'")
        return (value,) * type_.size

    def list_items(self, token: str, elem: Type) -> tuple[object, ...]:
        """Return the items in a `[...]` token."""
        if not token.endswith("]"):
            raise self.unexpected("']'")
        if not token[1:-1].strip(_BLANKS):
            return ()
        values = []
        offset = 1
        for item in token[1:-1].split(","):
            leading = len(item) - len(item.lstrip(_BLANKS))
            values.append(self.literal(item.strip(_BLANKS), elem, elem, offset + leading))
            offset += len(item) + 1
        return tuple(values)

    def literal(self, token: str, base: Type, type_: Type, offset: int = 0) -> object:
        """Return a value of type `base` for the default of a `type_`, `offset` characters into the current token."""
        kinds, expected = _LITERALS[base.base]
        value = self.value(token, offset)
        if isinstance(value, EnumName):
            if value in _ENUM_NAMES.get(base.base, ()):
                return value
        elif type(value) in kinds:
            return float(value) if base.base == "float" and isinstance(value, int) else value
        expected = f"{expected} as the default of {type_}"
        if value is None and token == self.tokens[self.at]:
            raise self.unexpected(expected)
        raise self.error(f"expected {expected}, got '{token}'", offset=offset, hint=_meant(value, type_))

    def value(self, token: str, offset: int) -> bool | int | float | complex | str | None:
        """Return the value of a literal of any type, or None if the token is not a literal."""
        if token in ("True", "False"):
            return token == "True"
        if is_identifier(token):
            return EnumName(token)
        if _STRING.fullmatch(token):
            return self.string(token, offset)
        if _INTEGER.fullmatch(token):
            # The length comes first: Python raises its own error for thousands of digits.
            if len(token) <= 20 and -(2**63) <= int(token) < 2**63:
                return int(token)
            raise self.error(f"'{token}' does not fit in 64 bits", offset=offset)
        real = _REAL.fullmatch(token)
        if real is None:
            return None
        value = float(token.rstrip("j"))
        is_zero = not real["mantissa"].strip("0.")
        if not is_zero and not sys.float_info.min <= abs(value) <= sys.float_info.max:
            raise self.error(f"'{token}' does not fit in a double", offset=offset)
        return complex(0.0, value) if real["imaginary"] else value

    def string(self, token: str, offset: int) -> str:
        """Return the content of a quoted string."""
        for escape in _ESCAPE.finditer(token):
            if escape[1] not in _ESCAPES:
                at = offset + escape.start()
                raise self.error(f"unknown escape '{escape[0]}' in a string", offset=at, hint=r"a backslash is '\\'")
        return _ESCAPE.sub(lambda escape: _ESCAPES[escape[1]], token[1:-1])

    def name(self, expected: str) -> str:
        """Take a name that is not reserved; `expected` describes it in errors."""
        token = self.tokens[self.at]
        if not is_identifier(token):
            raise self.unexpected(expected)
        if token in RESERVED_WORDS:
            raise self.error(
                f"'{token}' cannot be a name, PyTorch reserves it",
                hint=f"rename it, for example to '{token}_'",
            )
        self.at += 1
        return token

    def accept(self, symbol: str) -> bool:
        """Take the next token if it is this symbol, and return whether it was."""
        if self.tokens[self.at] != symbol:
            return False
        self.at += 1
        return True

    def another(self) -> bool:
        """Take a ',' or ')'; return whether it announces another item."""
        if self.accept(","):
            return True
        if self.accept(")"):
            return False
        raise self.unexpected("',' or ')'")

    def unexpected(self, expected: str, hint: str = "") -> SchemaError:
        """Return the error about a misplaced current token; the hint applies to a well-formed token."""
        token = self.tokens[self.at]
        if token[:1] in _QUOTES and not _STRING.fullmatch(token):
            return self.error("this string is never closed", hint=f"close it with {token[0]} on the same line")
        if token[:1] == "[" and not token.endswith("]"):
            return self.error("this '[' is never closed", hint="close it with ']'; a list in a list is not possible")
        if len(token) == 1 and not _CHARACTER.fullmatch(token):
            return self.error(f"unknown character {token!r}")
        got = f"'{token}'" if token else "the end of the schema"
        return self.error(f"expected {expected}, got {got}", hint=hint)

    def not_a_tensor(self, type_: Type) -> SchemaError:
        """Return the error about an alias on a type that is not a tensor."""
        return self.error(f"only tensors alias, and {type_} is not one", hint="remove the annotation")

    def unknown_type(self) -> SchemaError:
        """Return the error about an unknown type."""
        word = self.tokens[self.at]
        if not is_identifier(word):
            return self.unexpected("a type")
        habit = _TYPE_HABITS.get(word.lower())
        hint = f"did you mean '{habit}'?" if habit else did_you_mean(word, _BASE_TYPES)
        return self.error(f"unknown type '{word}'", hint=hint or f"the types are {', '.join(_BASE_TYPES)}")

    def error(self, message: str, at: int | None = None, *, offset: int = 0, hint: str = "") -> SchemaError:
        """Return an error `offset` characters into the token number `at`, or into the current one."""
        at = self.at if at is None else at
        end = len(self.text.rstrip(_BLANKS))
        start = next((match.start(1) for match in islice(_TOKEN.finditer(self.text, 0, end), at, None)), end)
        return SchemaError(message, self.location(start + offset), hint)

    def location(self, position: int) -> Location:
        """Return the location of a position in the text."""
        line_start = self.text.rfind("\n", 0, position) + 1
        if self.where and not line_start:
            return self.where.shifted(position)
        file, first = (self.where.file, self.where.line) if self.where else ("<schema>", 1)
        source = self.text[line_start:].partition("\n")[0].rstrip("\r")
        return Location(file, first + self.text.count("\n", 0, position), position - line_start + 1, source)


def _carriers(arguments: Iterable[Argument]) -> dict[str, list[Argument]]:
    """Return the arguments that carry each alias."""
    found: dict[str, list[Argument]] = {}
    for argument in arguments:
        if argument.alias is not None:
            for name in dict.fromkeys((*argument.alias.before, *argument.alias.after)):
                found.setdefault(name, []).append(argument)
    return found


def _meant(value: object, type_: Type) -> str:
    """Return a hint about a default of the wrong kind."""
    if value is None:
        return ""
    if not isinstance(value, EnumName):
        return f"did you mean the type '{type(value).__name__}'?"
    if value == "None":
        return f"an optional type takes it: '{type_}?'"
    known = [*_ENUM_NAMES.get(type_.base, ()), *(("True", "False") if bool in _LITERALS[type_.base][0] else ())]
    return did_you_mean(value, known)
