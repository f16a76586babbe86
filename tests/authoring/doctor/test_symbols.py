"""Symbols that a library leaves to others, and what is said of those that nobody has; PyTorch's libraries are real."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from opbridge.authoring.doctor import LibraryReport, examine
from opbridge.authoring.doctor.demangling import demangled, function_prefix, readable

CHECK_FAIL = """
#include <cstdint>
#include <string>
namespace c10 {
namespace detail {
[[noreturn]] void torchCheckFail(const char*, const char*, uint32_t, const std::string&);
}
}
extern "C" void fail() { c10::detail::torchCheckFail("f", "g", 1, "text"); }
"""


@pytest.fixture
def report(compile_library: Callable[..., Path]) -> Callable[..., LibraryReport]:
    return lambda source, *flags, **options: examine(compile_library(source, *flags, **options))


def test_a_symbol_that_pytorch_has_asks_for_its_import(report: Callable[..., LibraryReport]) -> None:
    found = report(CHECK_FAIL)
    assert found.problems == []
    assert [note for note in found.notes if note.startswith("import torch must come before it is loaded")]


def test_the_old_string_is_told_from_the_new_one(report: Callable[..., LibraryReport]) -> None:
    (problem,) = report(CHECK_FAIL, "-D_GLIBCXX_USE_CXX11_ABI=0").problems
    assert "compiled with the old std::string, PyTorch" in problem.what
    assert "-D_GLIBCXX_USE_CXX11_ABI=1" in problem.cure
    assert problem.details == (
        "c10::detail::torchCheckFail(char const*, char const*, unsigned int, std::string const&)",
    )


def test_what_changed_in_pytorch_is_shown_beside_what_is_there(report: Callable[..., LibraryReport]) -> None:
    (problem,) = report(
        "namespace c10 { namespace detail { void torchCheckFail(int); } struct Vanished { void run(); }; }\n"
        'extern "C" void f() { c10::detail::torchCheckFail(1); c10::Vanished().run(); }\n'
    ).problems
    assert problem.what.startswith("it was built for another PyTorch: PyTorch 2")
    assert "2 symbols" in problem.what
    text = "\n".join(problem.details)
    assert (
        "c10::detail::torchCheckFail(int)\n  here it is c10::detail::torchCheckFail(char const*, char const*, " in text
    )
    assert "c10::Vanished::run()\n  which is not there at all" in text


def test_type_information_alone_asks_for_the_import_too(report: Callable[..., LibraryReport]) -> None:
    source = "namespace c10 { struct Error { virtual ~Error(); }; }\nvoid f() { throw c10::Error(); }\n"
    found = report(source)
    assert not [problem for problem in found.problems if "_ZTI" in str(problem.details)]
    assert "import torch" in found.notes[0]


@pytest.mark.parametrize(
    ("source", "what", "cure"),
    [
        ('extern "C" int cudaMalloc(void**, long); int f() { return cudaMalloc(0, 1); }', "1 CUDA symbol", "-lcudart"),
        ('extern "C" int aclrtMalloc(); int f() { return aclrtMalloc(); }', "1 CANN symbol", "-lascendcl"),
        (
            'extern "C" void* PyGone_Now(); void* f() { return PyGone_Now(); }',
            "1 Python symbol",
            "headers of the Python",
        ),
        ('extern "C" int helper(); int f() { return helper(); }', "1 symbol missing", "-Wl,-z,defs"),
        ("namespace mindspore { void gone(); } void f() { mindspore::gone(); }", "another MindSpore", "build it again"),
        (
            "namespace c10 { namespace cuda { int device_count(); } } int f() { return c10::cuda::device_count(); }",
            "the part of PyTorch for CUDA",
            "install a PyTorch with CUDA",
        ),
        ("namespace std { void later(int); } void f() { std::later(1); }", "1 C++ runtime symbol", "link with g++"),
    ],
)
def test_whose_a_missing_symbol_is(report: Callable[..., LibraryReport], source: str, what: str, cure: str) -> None:
    (problem,) = report(source).problems
    assert what in problem.what
    assert cure in problem.cure


def test_what_may_be_missing_is_no_problem(report: Callable[..., LibraryReport]) -> None:
    assert (
        report('extern "C" __attribute__((weak)) int maybe(); int f() { return maybe ? maybe() : 0; }').problems == []
    )
    python = 'extern "C" void* PyList_New(long); extern "C" void* f() { return PyList_New(0); }'
    assert report(python).problems == []


def test_many_symbols_are_counted_and_not_all_shown(report: Callable[..., LibraryReport]) -> None:
    declared = "".join(f'extern "C" int gone{i}();\n' for i in range(9))
    (problem,) = report(declared + f"int f() {{ return {' + '.join(f'gone{i}()' for i in range(9))}; }}").problems
    assert problem.what == "9 symbols missing"
    assert len(problem.details) == 6
    assert problem.details[-1] == "and 4 more"


@pytest.mark.parametrize(
    ("symbol", "name", "prefix"),
    [
        ("_ZN3c104impl3ESDEv", "c10::impl::ESD()", "_ZN3c104impl3ESD"),
        ("_ZNK2at6Tensor3dimEv", "at::Tensor::dim() const", "_ZNK2at6Tensor3dim"),
        ("_ZTIN3c105ErrorE", "typeinfo for c10::Error", ""),
        ("_Z1fi", "f(int)", "_Z1f"),
        ("plain", "plain", ""),
        ("_Znot mangled", "_Znot mangled", ""),
    ],
)
def test_names(symbol: str, name: str, prefix: str) -> None:
    assert demangled(symbol) == readable(symbol) == name
    assert function_prefix(symbol) == prefix
