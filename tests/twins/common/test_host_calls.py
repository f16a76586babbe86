"""Which functions of a source hosts call, where its text does not show it and the preprocessor does."""

from __future__ import annotations

import pytest

from opbridge.twins.common.host_calls import aot_functions_of, hides_calls, wrapped

HEAD = "int g(int n, void** p, int* d, int64_t** s, const char** t, void* stream, void* extra)"
MARKER = '# 1 "k.cu"\n'


def shown(code: str) -> list[str]:
    return list(aot_functions_of(f'# 1 "other.h"\nextern "C" {HEAD} {{ }}\n{MARKER}{code}', {"k.cu"}))


@pytest.mark.parametrize(
    "code",
    [
        f'extern "C" {HEAD} {{ return 0; }}',
        f'extern "C" __attribute__((visibility("default"))) {HEAD} {{ return 0; }}',
        f'extern "C" {{ int other(); {HEAD} {{ if (n) {{ return 1; }} return 0; }} }}',
        f"struct S {{ int f() {{ return 0; }} }}; {HEAD} {{ return 0; }}",
        f'extern "C" {HEAD};\nextern "C" {HEAD} {{ return 0; }}',
    ],
)
def test_what_a_host_calls(code: str) -> None:
    assert shown(code) == ["g"]


@pytest.mark.parametrize(
    "code",
    [
        f'extern "C" {HEAD};',
        f"static {HEAD} {{ return 0; }}",
        f"namespace n {{ {HEAD} {{ return 0; }} }}",
        f"struct S {{ {HEAD} {{ return 0; }} }};",
        'extern "C" int g(int n, void** p) { return 0; }',
        "int f() { return g(n, p, d, s, t, stream, extra); }",
    ],
)
def test_what_none_calls(code: str) -> None:
    assert shown(code) == []


@pytest.mark.parametrize(
    "text",
    [
        '#define EXPORT extern "C"',
        '  #  define EXPORT __attribute__((used)) \\\n  extern "C"',
        "#define ARGUMENTS int, void **params, int *ndims",
    ],
)
def test_macros_that_may_hide_one(text: str) -> None:
    assert hides_calls(f"int x;\n{text}\n")


@pytest.mark.parametrize("text", ['extern "C" int f();', "#define N 3\nvoid** p;", '// #define E\nextern "C" {'])
def test_macros_that_hide_none(text: str) -> None:
    assert not hides_calls(text)


def test_each_gets_its_name_back_behind_the_code() -> None:
    code = wrapped("CODE", ["g"])
    assert code.index("#define g opbridge_twin_runs_g") < code.index("CODE") < code.index("#undef g")
    assert code.endswith("OPBRIDGE_TWIN_AOT(g, opbridge_twin_runs_g)\n")
