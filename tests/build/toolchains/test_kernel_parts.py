"""What all kernels have in common is compiled once, and says what it says where it comes with the headers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import opbridge as ob
from opbridge.base.errors import OpbridgeError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, build, prebuilt
from opbridge.build.toolchains.build_context import BuildContext
from opbridge.build.toolchains.build_plan import planned
from opbridge.build.toolchains.compiler_processes import Compilers
from opbridge.build.toolchains.kernel_parts import compiled_parts, requests, with_parts
from opbridge.waist.op import Op

MakeRequest = Callable[..., BuildRequest]

KERNEL = """#include <opbridge/kernel.h>
template <class T>
void add(ob::In<T> x, ob::In<T> y, ob::Out<T> out, int64_t times) {
  OB_CHECK(times > 0, "times is ", times, " for ", x.shape());
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[i] + T(times) * y[i];
}
OB_KERNEL(add, float, double)
"""
_COMPILES_PARTS = "compiling kernel_parts"


@pytest.fixture
def steps(cache: Cache) -> Callable[[BuildRequest], list[str]]:
    """What a build says it does."""

    def built(request: BuildRequest) -> list[str]:
        said: list[str] = []
        build(request, cache, said.append)
        return said

    return built


def test_two_kernels_share_them(request_for: MakeRequest, steps: Callable[[BuildRequest], list[str]]) -> None:
    assert _COMPILES_PARTS in steps(request_for(KERNEL))
    assert steps(request_for(f"{KERNEL}// edited\n")) == ["compiling kernel.cpp", "linking kernel.so"]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ('extern "C" int answer() { return 42; }\n', {}),
        (KERNEL, {"flags": ("-O1",)}),
        (KERNEL, {"defines": (("NDEBUG", "1"),)}),
    ],
)
def test_what_is_no_kernel_or_compiled_in_its_own_way_has_none(
    request_for: MakeRequest, steps: Callable[[BuildRequest], list[str]], text: str, fields: dict[str, object]
) -> None:
    assert steps(request_for(text, **fields)) == ["compiling kernel.cpp", "linking kernel.so"]


@pytest.mark.parametrize("own", ["", "#include <vector>\n", '#include "more.h"\n'])
def test_functions_of_cmath_that_most_kernels_do_without_are_there(
    request_for: MakeRequest, steps: Callable[[BuildRequest], list[str]], own: str
) -> None:
    call = "double called() { return std::legendre(2, 0.5); }\n"
    request = request_for(f"#include <cmath>\n{own}{KERNEL}{'' if 'more' in own else call}")
    (request.sources[0].parent / "more.h").write_text(f"#include <cmath>\n{call}")
    assert "linking kernel.so" in steps(request)


def test_failures_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones((2, 3), np.float32)

    def said(*arguments: object) -> str:
        with pytest.raises(OpbridgeError) as failure:
            add(*arguments)
        return str(failure.value)

    texts = []
    for flags, name in (("", "linked"), ("-DOTHERWISE", "included")):
        monkeypatch.setenv("CXXFLAGS", flags)
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernel.cpp").write_text(KERNEL)
        add: Op = ob.load(
            tmp_path / name / "kernel.cpp:add", schema=f"{name}::add(Tensor x, Tensor y, int times) -> Tensor", out="x"
        )
        np.testing.assert_array_equal(add(x, x, 2), 3 * x)
        messages = (said(x, x, 0), said(x, x.astype(np.float64), 1), said(x.astype(np.int32), x.astype(np.int32), 1))
        texts.append([message.replace(name, "") for message in messages])
    linked, included = texts
    assert linked == included
    assert "times is 0 for [2, 3]" in linked[0]


FORMULA = """#include <opbridge/grid.h>
#include <opbridge/kernel.h>
template <class T>
void twice(ob::In<T, ob::strided> x, ob::Out<T> out) {
  const ob::Grid grid({}, {ob::reads(x), ob::writes(out)});
  grid.each_row([=](ob::Row& row) {
    const T* from = row.read<T>(0);
    T* to = row.write<T>(1);
    for (int64_t i = 0; i < row.size(); ++i) to[i] = from[i] + from[i];
  });
}
OB_KERNEL(twice, float)
"""


def test_kernels_of_formulas_share_those_of_their_loops_too(
    request_for: MakeRequest, steps: Callable[[BuildRequest], list[str]]
) -> None:
    assert _COMPILES_PARTS in steps(request_for(KERNEL))
    assert _COMPILES_PARTS in steps(request_for(FORMULA))
    assert steps(request_for(f"{FORMULA}// edited\n")) == ["compiling kernel.cpp", "linking kernel.so"]


@pytest.mark.parametrize(("call", "is_left_out"), [("T(times)", True), ("ob::exp(T(times))", False)])
def test_functions_of_elements_are_read_where_a_source_mentions_one(
    request_for: MakeRequest, cache: Cache, tmp_path: Path, call: str, is_left_out: bool
) -> None:
    request = request_for(KERNEL.replace("T(times)", call))
    assert (("OB_WITHOUT_MATH", "1") in with_parts(planned(request, cache), tmp_path).variant.defines) == is_left_out
    build(request)


def test_the_usual_linker_explains_what_a_fast_one_could_not_link(request_for: MakeRequest) -> None:
    request = request_for(f"{KERNEL}void missing();\nvoid calls() {{ missing(); }}\n")
    with pytest.raises(OpbridgeError, match=r"missing\(\)") as failure:
        build(request)
    assert "-fuse-ld" not in str(failure.value)


def test_a_wheel_includes_them(
    request_for: MakeRequest,
    steps: Callable[[BuildRequest], list[str]],
    cache: Cache,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prebuilt, "FOLDER", tmp_path / "prebuilt")
    context = BuildContext(cache, print, Compilers())
    for request in requests():
        parts, files = compiled_parts(request.sources[0], request, context)
        prebuilt.add(request, parts.read_bytes(), files, prebuilt.FOLDER)
    for text in (KERNEL, FORMULA):
        assert steps(request_for(text)) == ["compiling kernel.cpp", "linking kernel.so"]
