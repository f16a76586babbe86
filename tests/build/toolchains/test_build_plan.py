"""What a request becomes before a command runs: one immutable plan, and others that are made from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest
from opbridge.build.toolchains.build_context import BuildContext
from opbridge.build.toolchains.build_plan import planned
from opbridge.build.toolchains.compiler_processes import Compilers
from opbridge.build.toolchains.interface import InstalledLibrary, SlimHeaders
from opbridge.build.toolchains.kernel_parts import with_parts
from opbridge.build.toolchains.precompiled_headers import with_fast_headers, with_fuller_headers

MakeRequest = Callable[..., BuildRequest]


@pytest.fixture
def context(cache: Cache) -> BuildContext:
    return BuildContext(cache, print, Compilers())


@pytest.fixture
def with_library(request_for: MakeRequest, tmp_path: Path) -> BuildRequest:
    """Two sources of a library that has slim headers, which are not precompiled before many sources use them."""
    slim = SlimHeaders(tmp_path / "slim", tmp_path / "slim" / "big.h", "big.h", ("big",), worth_from=9)
    request = request_for("#include <big.h>\n", library=InstalledLibrary(tmp_path, ("big", "1"), slim))
    other = request.sources[0].with_name("other.cpp")
    other.write_text("#include <big.h>\n")
    return replace(request, sources=(*request.sources, other))


def test_a_plan_does_not_change(request_for: MakeRequest, cache: Cache) -> None:
    plan = planned(request_for("int a;"), cache)
    with pytest.raises(FrozenInstanceError):
        plan.headers = ()  # type: ignore[misc]


def test_stages_choose_the_variant_and_keep_the_request_and_the_key(
    with_library: BuildRequest, request_for: MakeRequest, cache: Cache, context: BuildContext, tmp_path: Path
) -> None:
    kernel = planned(request_for("#include <opbridge/kernel.h>\n"), cache)
    linked = with_parts(with_fast_headers(kernel, context), tmp_path)
    assert (linked.request, linked.key) == (kernel.request, kernel.key)
    assert linked.parts
    assert linked.variant != kernel.variant
    assert linked.with_request(linked.request) == kernel
    library = planned(with_library, cache)
    fast = with_fast_headers(library, context)
    assert (fast.request, fast.key, fast.slim) == (library.request, library.key, library.request.sources)


def test_the_next_plan_gives_up_slim_headers_only_where_they_failed(
    with_library: BuildRequest, cache: Cache, context: BuildContext
) -> None:
    fast = with_fast_headers(planned(with_library, cache), context)
    first, second = fast.slim
    assert with_fuller_headers(fast, [first], context).slim == (second,)
    assert with_fuller_headers(fast, [first, second], context).slim == ()
