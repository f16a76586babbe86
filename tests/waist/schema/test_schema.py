"""The schema grammar, held against PyTorch's own parser and its 2,500 operators."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opbridge.base.errors import Location, SchemaError
from opbridge.waist.schema import Alias, Argument, BaseType, EnumName, ListType, OptionalType, Return, Schema

# A loaded machine is no failure.
untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

TENSOR, INT = BaseType("Tensor"), BaseType("int")


def native_functions() -> list[str]:
    torchgen = importlib.util.find_spec("torchgen")
    if torchgen is None or torchgen.origin is None:
        return []
    file = Path(torchgen.origin).parent / "packaged/ATen/native/native_functions.yaml"
    marker = "- func: "
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix(marker).strip() for line in lines if line.startswith(marker)]


NATIVE = native_functions()
needs_torch = pytest.mark.skipif(not NATIVE, reason="PyTorch is not installed")


def torch_schema(text: str) -> Any:
    import torch

    return torch._C.parse_schema(text)


def default_of(text: str) -> object:
    """The value of the default in an argument such as `int a=1`."""
    default = Schema.parse(f"f({text}) -> ()").arguments[0].default
    assert default is not None
    return default.value


# --- the model -------------------------------------------------------------------------------------------------------


def test_a_schema_is_its_parts() -> None:
    schema = Schema.parse("ns::op.over(Tensor(a!) x, Tensor? y, *, int[2] k=1) -> (Tensor(a!), Tensor z)")

    assert (schema.namespace, schema.name, schema.overload) == ("ns", "op", "over")
    assert (schema.qualified_name, schema.full_name) == ("ns::op", "ns::op.over")
    x, y, k = schema.arguments
    assert x == Argument("x", TENSOR, alias=Alias(("a",), True, ()))
    assert y == Argument("y", OptionalType(TENSOR))
    assert (k.type, k.kwarg_only, k.has_default) == (ListType(INT, 2), True, True)
    assert schema.returns == (Return(None, TENSOR, x.alias), Return("z", TENSOR))


def test_name_parts_may_be_missing() -> None:
    schema = Schema.parse("op() -> ()")

    assert schema == Schema(None, "op", "", (), ())
    assert schema.qualified_name == schema.full_name == "op"


def test_arguments_by_what_they_are() -> None:
    schema = Schema.parse("f(Tensor x, Tensor(a!)[] state, float p, *, Tensor?[] more, str s='', Tensor(b!) out) -> ()")

    def names(arguments: tuple[Argument, ...]) -> str:
        return " ".join(argument.name for argument in arguments)

    assert names(schema.positional) == "x state p"
    assert names(schema.keyword_only) == "more s out"
    assert names(schema.tensor_arguments) == "x state more out"
    assert names(schema.attributes) == "p s"
    assert names(schema.mutable_arguments) == "state out"
    assert names(schema.out_arguments) == "out"


def test_a_return_names_the_argument_it_aliases() -> None:
    schema = Schema.parse(
        "f(Tensor x, Tensor(a -> *) y, Tensor(b! -> c|d) z) -> (Tensor(a)[], Tensor, Tensor(d!), int)"
    )

    aliased = [schema.aliased_argument(return_) for return_ in schema.returns]
    assert aliased == [schema.argument("y"), None, schema.argument("z"), None]
    assert schema.new_outputs == (Return(None, TENSOR), Return(None, INT))


@pytest.mark.parametrize(
    ("text", "base", "is_optional", "is_list", "is_tensor_like"),
    [
        ("Tensor", "Tensor", False, False, True),
        ("Tensor?", "Tensor", True, False, True),
        ("Tensor[]", "Tensor", False, True, True),
        ("Tensor?[]", "Tensor", False, True, True),
        ("int", "int", False, False, False),
        ("int[]?", "int", True, False, False),
        ("SymInt[2]", "SymInt", False, True, False),
        ("int[][]", "int", False, True, False),
    ],
)
def test_types_answer_questions(text: str, base: str, is_optional: bool, is_list: bool, is_tensor_like: bool) -> None:
    type_ = Schema.parse(f"f({text} x) -> ()").arguments[0].type

    assert str(type_) == text
    assert type_.base == base
    assert (type_.is_optional, type_.is_list, type_.is_tensor_like) == (is_optional, is_list, is_tensor_like)


def test_with_namespace_replaces_the_namespace() -> None:
    schema = Schema.parse("old::op.out(Tensor x) -> Tensor")

    assert str(schema.with_namespace("new")) == "new::op.out(Tensor x) -> Tensor"
    with pytest.raises(SchemaError, match="expected a name for the namespace, got 'a-b'"):
        schema.with_namespace("a-b")


def test_an_unknown_argument_is_answered_with_a_near_one() -> None:
    with pytest.raises(SchemaError, match=r"(?s)f has no argument 'alhpa'.*did you mean 'alpha'\?"):
        Schema.parse("f(Tensor x, float alpha) -> Tensor").argument("alhpa")


# --- defaults --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("int? a=None", None),
        ("bool a=True", True),
        ("int a=-9223372036854775808", -(2**63)),
        ("float a=1e-05", 1e-05),
        ("float a=1", 1.0),
        ("float a=.5", 0.5),
        ("Scalar a=1", 1),
        ("Scalar a=True", True),
        ("complex a=-1.5j", -1.5j),
        ("int[2] a=[-2,-1]", (-2, -1)),
        ("int[3] a=1", (1, 1, 1)),
        ("float[] a=[ 1 , 2.5 ]", (1.0, 2.5)),
        ("bool[2] a=True", (True, True)),
        ("int[] a=[]", ()),
        ('str a="it\'s"', "it's"),
        ('str a="\\"\'\\\\\\n"', "\"'\\\n"),
        ("str a='，'", "，"),
        ('Device a="cuda:0"', "cuda:0"),
        ("ScalarType a=6", 6),
    ],
)
def test_a_default_has_the_value_the_operator_receives(text: str, value: object) -> None:
    received = default_of(text)

    assert received == value
    assert type(received) is type(value)


@pytest.mark.parametrize("text", ["int a=Mean", "ScalarType a=long", "MemoryFormat a=contiguous_format"])
def test_a_bare_word_is_an_enum_name(text: str) -> None:
    value = default_of(text)

    assert isinstance(value, EnumName)
    assert value == text.partition("=")[2]


# --- printing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (" ns :: f . o ( Tensor  x,int y = 1 ) ->Tensor ", "ns::f.o(Tensor x, int y=1) -> Tensor"),
        ("f(Tensor( a!->* )[ ] x, int[ 2 ] y)->()", "f(Tensor(a! -> *)[] x, int[2] y) -> ()"),
        ("f(Tensor x,\n  Tensor y)\r\n  -> (Tensor)", "f(Tensor x, Tensor y) -> Tensor"),
        ("f() -> (Tensor y)", "f() -> Tensor y"),
    ],
)
def test_layout_is_free_and_prints_canonically(text: str, canonical: str) -> None:
    assert str(Schema.parse(text)) == canonical
    assert Schema.parse(canonical) == Schema.parse(text)


@needs_torch
def test_every_native_function_prints_back_byte_for_byte() -> None:
    assert len(NATIVE) > 2000
    assert [str(Schema.parse(text)) for text in NATIVE] == NATIVE


# --- agreement with PyTorch ------------------------------------------------------------------------------------------

TORCH_ENUM_VALUES = {"Mean": 1, "long": 4, "contiguous_format": 0}


def as_torch_reads(value: object) -> object:
    if isinstance(value, EnumName):
        return TORCH_ENUM_VALUES[value]
    return list(value) if isinstance(value, tuple) else value


def their_alias(info: Any) -> object:
    return info and (info.is_write, set(info.before_set), set(info.after_set))


def our_alias(item: Argument | Return) -> object:
    if item.alias is None:
        return None
    # PyTorch moves the names of a list's alias to its element type, where Python cannot see them.
    before, after = ((), ()) if item.type.is_list else (item.alias.before, item.alias.after or item.alias.before)
    return item.alias.write, set(before), set(after)


@needs_torch
@pytest.mark.parametrize("part", range(8))
def test_every_native_function_means_what_pytorch_reads(part: int) -> None:
    for text in NATIVE[part::8]:
        ours, theirs = Schema.parse(text), torch_schema(text)
        assert (ours.qualified_name, ours.overload) == (theirs.name, theirs.overload_name)
        assert len(ours.arguments) == len(theirs.arguments), text
        assert len(ours.returns) == len(theirs.returns), text
        for argument, other in zip(ours.arguments, theirs.arguments, strict=True):
            assert (argument.name, argument.kwarg_only) == (other.name, other.kwarg_only), text
            assert our_alias(argument) == their_alias(other.alias_info), text
            assert argument.has_default == other.has_default_value(), text
            if argument.default:
                assert as_torch_reads(argument.default.value) == other.default_value, text
        for return_, other in zip(ours.returns, theirs.returns, strict=True):
            assert (return_.name or "") == (other.name or ""), text
            assert our_alias(return_) == their_alias(other.alias_info), text


@needs_torch
def test_what_pytorch_prints_of_its_operators_has_the_same_types() -> None:
    """PyTorch's print keeps the types (`DeviceIndex` apart) and spells the defaults its own way."""
    for text in NATIVE:
        ours, printed = Schema.parse(text), Schema.parse(str(torch_schema(text)))
        types = [str(argument.type).replace("DeviceIndex", "int") for argument in ours.arguments]
        assert [str(argument.type) for argument in printed.arguments] == types
        assert [str(return_) for return_ in printed.returns] == [str(return_) for return_ in ours.returns]


# --- generated schemas -----------------------------------------------------------------------------------------------

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True).map(lambda name: f"{name}_")
integers = st.integers(-(2**63), 2**63 - 1).map(str)
reals = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False).map(repr)
booleans = st.sampled_from(["True", "False"])
strings = st.text(
    st.characters(codec="ascii", exclude_categories=["C"], exclude_characters="\\'\""), max_size=5
).flatmap(lambda body: st.sampled_from([f'"{body}"', f"'{body}'", f"'\\\\{body}\\''"]))
literals = {
    "int": integers | st.just("Mean"),
    "SymInt": integers,
    "float": reals | st.integers(-1000, 1000).map(str),
    "Scalar": reals | integers | booleans,
    "complex": st.floats(-1e9, 1e9, allow_subnormal=False).map(lambda value: f"{value!r}j"),
    "bool": booleans,
    "str": strings,
    "ScalarType": st.sampled_from(["long", "float", "half", "bfloat16"]),
    "MemoryFormat": st.just("contiguous_format"),
    "Layout": st.just("strided"),
    "Device": st.just('"cpu"'),
}
list_literals = {"int": integers, "SymInt": integers, "float": reals, "bool": booleans}
bases = st.sampled_from([*literals, "Tensor", "Tensor", "Generator", "Storage", "Stream", "QScheme", "Any", "SymBool"])
suffixes = st.sampled_from(["", "", "?", "[]", "[2]", "?[]", "[]?", "[3]?", "[][]"])


@st.composite
def arguments(draw: st.DrawFn, name: str, with_default: bool) -> str:
    base, suffix = draw(bases), draw(suffixes)
    alias = draw(st.sampled_from(["", "", f"(_{name})", f"(_{name}!)", f"(_{name} -> *)", f"(_{name}|w!)"]))
    default = ""
    if with_default:
        items = list_literals.get(base)
        if suffix.endswith("?"):
            default = "None"
        elif suffix in ("[]", "[2]") and items is not None:
            comma = draw(st.sampled_from([", ", ","]))
            default = f"[{comma.join(draw(st.lists(items, max_size=3)))}]"
        elif suffix == "" and base in literals:
            default = draw(literals[base])
        else:
            suffix, default = f"{suffix}?", "None"
    return f"{base}{alias if base == 'Tensor' else ''}{suffix} {name}" + (f"={default}" if default else "")


@st.composite
def schemas(draw: st.DrawFn) -> str:
    argument_names = draw(st.lists(names, unique=True, max_size=6))
    star = draw(st.integers(0, len(argument_names)))
    first_default = draw(st.integers(0, star))
    texts = [
        draw(arguments(name, i >= first_default if i < star else draw(st.booleans())))
        for i, name in enumerate(argument_names)
    ]
    if star < len(texts):
        texts.insert(star, "*")
    carried = [text.partition(")")[0].partition(" ->")[0] + ")" for text in texts if text.startswith("Tensor(")]
    kinds = st.sampled_from(["Tensor", "int", "Tensor[]", "Scalar?", *carried])
    returns = draw(st.lists(kinds, max_size=3))
    return_names = draw(st.lists(names, unique=True, min_size=3, max_size=3))
    if draw(st.booleans()):
        returns = [f"{kind} {name}" for kind, name in zip(returns, return_names, strict=False)]
    returned = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
    name = draw(names) + draw(st.sampled_from(["", ".Tensor", ".from"]))
    return f"{draw(st.sampled_from(['', 'ns::']))}{name}({', '.join(texts)}) -> {returned}"


@untimed
@given(schemas())
def test_what_the_grammar_makes_prints_back(text: str) -> None:
    schema = Schema.parse(text)

    assert str(schema) == text
    assert Schema.parse(str(schema)) == schema


@needs_torch
@untimed
@given(schemas())
def test_what_the_grammar_makes_is_what_pytorch_accepts(text: str) -> None:
    schema, other = Schema.parse(text), torch_schema(text)

    assert schema.qualified_name == other.name
    assert [argument.name for argument in schema.arguments] == [argument.name for argument in other.arguments]


# --- wrong inputs ----------------------------------------------------------------------------------------------------

FRAGMENTS = [
    *(
        "f",
        "ns",
        "::",
        ".",
        "(",
        ")",
        "[",
        "]",
        "->",
        " ",
        ",",
        "*",
        "?",
        "!",
        "|",
        "=",
        "'",
        '"',
        "\\",
        "\n",
        "-",
        "é",
    ),
    *(
        "Tensor ",
        "Tensor(a!) ",
        "int[2] ",
        "float ",
        "str ",
        "x",
        "y",
        "1",
        "1e5",
        "None",
        "True",
        "[1,2]",
        "\x00",
        "\xa0",
    ),
]
fragments = st.lists(st.sampled_from(FRAGMENTS), max_size=6).map("".join)


def place_of_error(text: str) -> Location | None:
    """Where the text is refused; nothing but a SchemaError may come."""
    try:
        Schema.parse(text)
    except SchemaError as error:
        return error.where or pytest.fail("an error without a place")
    return None


def refuses_or_agrees_with_pytorch(text: str) -> None:
    where = place_of_error(text)
    if where is not None:
        assert where.source in text
        assert 1 <= where.column <= len(where.source) + 1
        return
    schema = Schema.parse(text)
    assert Schema.parse(str(schema)) == schema
    if NATIVE:
        torch_schema(str(schema))


@untimed
@given(st.text() | fragments | fragments.map("f(Tensor x, {}) -> ()".format))
def test_any_text_is_a_schema_or_a_schema_error(text: str) -> None:
    refuses_or_agrees_with_pytorch(text)


@needs_torch
@untimed
@given(st.data())
def test_a_damaged_schema_is_a_schema_or_a_schema_error(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(NATIVE))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 8)))

    refuses_or_agrees_with_pytorch(text[:start] + data.draw(fragments) + text[end:])


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        # names
        ("", "1:1", "expected the operator's name, got the end of the schema", ""),
        ("(Tensor x) -> Tensor", "1:1", "expected the operator's name, got '('", ""),
        ("a:f() -> ()", "1:2", "expected '(' and the arguments, got ':'", ""),
        ("a::b::f() -> ()", "1:5", "expected '(' and the arguments, got '::'", ""),
        ("f.1() -> ()", "1:2", "expected '(' and the arguments, got '.1'", ""),
        ("f.default() -> ()", "1:3", "PyTorch keeps the overload name 'default' for itself", "choose another"),
        ("f(int in) -> ()", "1:7", "'in' cannot be a name, PyTorch reserves it", "'in_'"),
        ("f(int x, int x) -> ()", "1:14", "two arguments are named 'x'", "rename"),
        ("f() -> (int x, int x)", "1:20", "two returns are named 'x'", "rename"),
        # structure
        ("f", "1:2", "expected '(' and the arguments, got the end of the schema", ""),
        ("f(Tensor x)", "1:12", "expected '->' and the returns, got the end of the schema", "'-> ()'"),
        ("f(Tensor x) ->", "1:15", "expected a type, got the end of the schema", ""),
        ("f(Tensor x -> Tensor", "1:12", "expected ',' or ')', got '->'", ""),
        ("f(Tensor x Tensor y) -> ()", "1:12", "expected ',' or ')', got 'Tensor'", ""),
        ("f(Tensor) -> ()", "1:9", "expected a name for the Tensor argument, got ')'", ""),
        ("f(Tensor x,) -> ()", "1:12", "expected a type, got ')'", ""),
        ("f(Tensor x, ...) -> ()", "1:13", "expected a type, got '.'", ""),
        ("f() -> Tensor, Tensor", "1:14", "expected the end of the schema, got ','", "'-> (Tensor, Tensor)'"),
        ("f() -> (Tensor", "1:15", "expected ',' or ')', got the end of the schema", ""),
        ("f(Tensor x;) -> ()", "1:11", "unknown character ';'", ""),
        ("f(Tensor x， int y) -> ()", "1:11", "unknown character '，'", ""),
        ("f(Tensor x,\n  tensor y) -> ()", "2:3", "unknown type 'tensor'", "did you mean 'Tensor'?"),
        ("f(*, *, int x) -> ()", "1:6", "'*' comes a second time", "keyword-only"),
        ("f(int x, *) -> ()", "1:10", "no argument follows the '*'", "leave it out"),
        ("f(int x, *args) -> ()", "1:11", "expected ',' after '*', got 'args'", ""),
        # types
        ("f(Float x) -> ()", "1:3", "unknown type 'Float'", "did you mean 'float'?"),
        ("f(double x) -> ()", "1:3", "unknown type 'double'", "did you mean 'float'?"),
        ("f(Int x) -> ()", "1:3", "unknown type 'Int'", "did you mean 'int'?"),
        ("f(string x) -> ()", "1:3", "unknown type 'string'", "did you mean 'str'?"),
        ("f(Tenosr x) -> ()", "1:3", "unknown type 'Tenosr'", "did you mean 'Tensor'?"),
        ("f(Future(int) x) -> ()", "1:3", "unknown type 'Future'", "the types are Tensor, int,"),
        ("f(List[int] x) -> ()", "1:3", "unknown type 'List'", "did you mean 'int[]'?"),
        ("f(int?? x) -> ()", "1:7", "'int?' is optional already", "remove"),
        ("f(int[0] x) -> ()", "1:6", "expected a list size from 1 to 999, got '0'", "'[]'"),
        ("f(int[n] x) -> ()", "1:6", "expected a list size from 1 to 999, got 'n'", "'[]'"),
        ("f(int[2][] x) -> ()", "1:9", "'int[2]' cannot be the element of a list", "leave the inner size out"),
        ("f(int[2 x) -> ()", "1:6", "this '[' is never closed", "']'"),
        ("f(int[][][][][][][][][] x) -> ()", "1:22", "a type has at most 8 '[]' and '?'", ""),
        # aliases
        ("f(int(a!) x) -> ()", "1:6", "only tensors alias, and int is not one", "remove"),
        ("f(str[](a!) x) -> ()", "1:8", "only tensors alias, and str[] is not one", "remove"),
        ("f(Tensor[](a!) x) -> ()", "1:11", "expected a name for the Tensor[] argument, got an", "'Tensor(a!)[]'"),
        ("f(Tensor(a!|b) x) -> ()", "1:12", "expected ')' after the alias, got '|'", ""),
        ("f(Tensor(*) x) -> ()", "1:10", "expected an alias such as 'a', got '*'", ""),
        ("f(Tensor x) -> Tensor(a!)", "1:16", "no argument carries the alias '(a!)' of this return", "annotate"),
        ("f(Tensor(a!) x) -> Tensor(a)", "1:20", "to be '(a!)' as on argument 'x', got '(a)'", "'!'"),
        # defaults
        ("f(int x=1, int y) -> ()", "1:16", "expected a default for 'y', because 'x' before it has one", "'*, '"),
        ("f(int x=) -> ()", "1:9", "expected an integer as the default of int, got ')'", ""),
        ("f(int x=1.5) -> ()", "1:9", "expected an integer as the default of int, got '1.5'", "the type 'float'?"),
        ("f(int x=True) -> ()", "1:9", "expected an integer as the default of int, got 'True'", "the type 'bool'?"),
        ("f(int x=None) -> ()", "1:9", "expected an integer as the default of int, got 'None'", "'int?'"),
        ("f(int x=0x10) -> ()", "1:9", "expected an integer as the default of int, got '0x10'", ""),
        ("f(int x=9223372036854775808) -> ()", "1:9", "'9223372036854775808' does not fit in 64 bits", ""),
        ("f(bool x=true) -> ()", "1:10", "expected True or False as the default of bool, got 'true'", "'True'"),
        ("f(bool x=1) -> ()", "1:10", "expected True or False as the default of bool, got '1'", "the type 'int'?"),
        ("f(float x=-inf) -> ()", "1:11", "expected a finite number as the default of float, got '-'", ""),
        ("f(float x=1e999) -> ()", "1:11", "'1e999' does not fit in a double", ""),
        ("f(str x=abc) -> ()", "1:9", "expected a string in quotes as the default of str, got 'abc'", ""),
        ('f(str x="abc) -> ()', "1:9", "this string is never closed", "on the same line"),
        (r'f(str x="a\qb") -> ()', "1:11", r"unknown escape '\q' in a string", r"'\\'"),
        ("f(Tensor x=3) -> ()", "1:12", "expected no default for Tensor, got '3'", "'Tensor?'"),
        ("f(Tensor? x=3) -> ()", "1:13", "expected None as the default of Tensor?, got '3'", "leave it out"),
        ("f(Tensor[] x=[]) -> ()", "1:14", "expected no default for Tensor[], got '[]'", "'Tensor[]?'"),
        ("f(int[]? x=[1]) -> ()", "1:12", "expected None as the default of int[]?, got '[1]'", "leave it out"),
        ("f(int[] x=1) -> ()", "1:11", "expected a list as the default of int[], got '1'", "'[1]'"),
        ("f(int[] x=[1, 2.5]) -> ()", "1:15", "expected an integer as the default of int, got '2.5'", "'float'?"),
        ("f(int[] x=[1,]) -> ()", "1:14", "expected an integer as the default of int, got ''", ""),
        ("f(int[] x=[[1]]) -> ()", "1:11", "this '[' is never closed", "a list in a list is not possible"),
        ("f(ScalarType x=flaot) -> ()", "1:16", "a dtype's name such as 'float'", "did you mean 'float'?"),
        ("f(MemoryFormat x=long) -> ()", "1:18", "expected 'contiguous_format' as the default", ""),
    ],
)
def test_a_wrong_schema_is_answered_with_place_and_remedy(text: str, place: str, message: str, hint: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.parse(text)

    where = caught.value.where
    assert where is not None
    assert f"{where.line}:{where.column}" == place
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert bool(hint) == bool(caught.value.hint)


def test_the_caret_stands_below_the_trouble() -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.parse("f(tensor x) -> Tensor")

    assert str(caught.value) == (
        "<schema>:1:3: unknown type 'tensor'\n  f(tensor x) -> Tensor\n    ^\n  did you mean 'Tensor'?"
    )


def test_a_place_in_the_users_file_is_carried_into_the_error() -> None:
    where = Location("ops.yaml", 3, 11, "  - func: f(tensor x) -> Tensor")

    with pytest.raises(SchemaError, match=r"^ops\.yaml:3:13: unknown type 'tensor'") as caught:
        Schema.parse("f(tensor x) -> Tensor", where=where)
    assert "\n    - func: f(tensor x) -> Tensor\n              ^\n" in str(caught.value)


def test_the_later_lines_of_a_text_count_on_in_the_users_file() -> None:
    with pytest.raises(SchemaError, match=r"^ops\.yaml:4:2: unknown type 'tensor'"):
        Schema.parse("f(Tensor x,\n tensor y) -> Tensor", where=Location("ops.yaml", 3, 11))
