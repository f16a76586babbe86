"""Many sources of one library: who waits sees how far it is, and one that cannot be compiled ends it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opbridge.base.errors import BuildError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, build, build_many


@pytest.fixture
def request_of_five(project: Path) -> BuildRequest:
    sources = tuple(project / f"source{number}.cpp" for number in range(5))
    for source in sources:
        source.write_text(f'extern "C" int {source.stem}() {{ return 1; }}\n')
    return BuildRequest(sources, "five.so")


def test_each_says_how_many_there_are(cache: Cache, request_of_five: BuildRequest) -> None:
    said: list[str] = []
    build(request_of_five, cache, on_progress=said.append)
    positions = sorted(words.rpartition(" (")[2] for words in said if words.startswith("compiling "))
    assert positions == [f"{number} of 5)" for number in (1, 2, 3, 4, 5)]


def test_none_begins_after_one_that_fails(cache: Cache, request_of_five: BuildRequest) -> None:
    for source in request_of_five.sources:
        source.write_text("int wrong = nothing;\n")
    said: list[str] = []
    with pytest.raises(BuildError, match=r"nothing(.|\n)*4 of 5 sources were not compiled after that") as failure:
        build_many([request_of_five], cache, jobs=1, on_progress=said.append)
    assert str(failure.value).count("error: ") == len(said) == 1


def test_one_header_is_wrong_once(cache: Cache, request_of_five: BuildRequest, project: Path) -> None:
    (project / "wrong.h").write_text("int wrong = nothing;\n")
    for source in request_of_five.sources:
        source.write_text('#include "wrong.h"\n')
    with pytest.raises(BuildError) as failure:
        build_many([request_of_five], cache, jobs=5)
    assert str(failure.value).count("error: ") == 1


def test_what_has_begun_is_heard_out(cache: Cache, request_of_five: BuildRequest) -> None:
    for source in request_of_five.sources:
        source.write_text("int wrong = nothing;\n")
    with pytest.raises(BuildError) as failure:
        build_many([request_of_five], cache, jobs=5)
    left_out = re.search(r"(\d) of 5 sources were not compiled", str(failure.value))
    assert str(failure.value).count("error: ") + int(left_out[1] if left_out else 0) == 5
