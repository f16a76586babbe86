"""What is known of a function before it is called."""

from __future__ import annotations

import torch

from opbridge.waist.functions.signatures import REQUIRED, FunctionParameter, name_of, parameters_of


def test_a_python_function_tells_its_parameters() -> None:
    def cell(x: object, scale: float = 2.0, *, eps: float = 1e-5) -> None: ...

    assert parameters_of(cell) == (
        FunctionParameter("x"),
        FunctionParameter("scale", 2.0),
        FunctionParameter("eps", 1e-5, keyword_only=True),
    )


def test_a_pybind11_function_tells_them_in_its_first_line() -> None:
    assert "parse_schema(schema: str, allow_typevars: bool = True)" in torch._C.parse_schema.__doc__
    assert parameters_of(torch._C.parse_schema) == (
        FunctionParameter("schema"),
        FunctionParameter("allow_typevars", True),
    )


def test_one_without_names_has_those_of_pybind11() -> None:
    parameters = parameters_of(torch._C._jit_set_profiling_mode)
    assert parameters == (FunctionParameter("arg0"),)


def test_nothing_is_known_of_any_number_of_arguments() -> None:
    def gather(*tensors: object) -> None: ...

    assert parameters_of(gather) is None


def documented(text: str) -> object:
    def cell(*_: object) -> None: ...

    cell.__doc__ = text
    return parameters_of(cell)


def test_commas_inside_of_types_and_defaults_separate_nothing() -> None:
    text = (
        "cell(xs: collections.abc.Sequence[tuple[int, int]], f: Callable[[int, int], int], name: str = 'a, b') -> int"
    )
    assert documented(text) == (FunctionParameter("xs"), FunctionParameter("f"), FunctionParameter("name", "a, b"))


def test_a_default_that_cannot_be_read_back_has_to_be_given() -> None:
    assert documented("cell(x: object, mode: Mode = <Mode.fast: 1>, *, n: int = 3)") == (
        FunctionParameter("x"),
        FunctionParameter("mode", REQUIRED),
        FunctionParameter("n", 3, keyword_only=True),
    )


def test_an_overloaded_function_tells_nothing() -> None:
    assert documented("cell(*args, **kwargs)\nOverloaded function.\n\n1. cell(x: int) -> int") is None


def test_messages_call_a_function_by_its_module_where_that_says_more() -> None:
    assert name_of(torch._C.parse_schema) == "torch.parse_schema"
    assert name_of(documented).startswith("documented")
