"""Lines of generated files, found in the answer that holds their text."""

from __future__ import annotations

import pytest

from opbridge.analysis.judge.answer.source_lines import line_of

DIRECT = 'm = load_inline("m", cpp_sources="int f();", cuda_sources="""\nfirst\nsecond\n""")\n'
NAMED = '# one\nkernels = r"""first\nsecond"""\nm = load_inline("m", cuda_sources=[kernels, "third"])\n'

PROJECT = 'kernel_src = """\nfirst\nsecond"""\nhost_operator_src = """\nthird\n"""\nmodel_src = """fourth"""\n'


@pytest.mark.parametrize(
    ("place", "source", "line"),
    [
        ("answer.py:3", DIRECT, 3),
        ("cuda.cu:5", DIRECT, 2),
        ("cuda.cu:6", DIRECT, 3),
        ("main.cpp:2", DIRECT, 1),
        ("cuda.cu:4", NAMED, 2),
        ("cuda.cu:6", NAMED, 4),
        ("add_custom.cpp:3", PROJECT, 3),
        ("host_operator.cpp:2", PROJECT, 5),
        ("model.py:1", PROJECT, 7),
    ],
)
def test_a_line_is_found(place: str, source: str, line: int) -> None:
    assert line_of(place, "answer.py", source) == line


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("", DIRECT),
        ("cuda.cu:2", DIRECT),
        ("cuda.cu:99", DIRECT),
        ("kernel.h:5", DIRECT),
        ("cuda.cu:5", DIRECT + DIRECT),
        ("cuda.cu:5", 'm = load_inline("m", cuda_sources="first\\nsecond")\n'),
        ("cuda.cu:5", 'm = load_inline("m", cuda_sources=f"{first}")\n'),
        ("cuda.cu:5", "not Python ("),
    ],
)
def test_what_cannot_be_told_is_not_marked(place: str, source: str) -> None:
    assert line_of(place, "answer.py", source) is None
