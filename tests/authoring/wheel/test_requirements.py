"""What a package requires, by the kernels in it."""

from __future__ import annotations

from pathlib import Path

import pytest

import opbridge
from opbridge.authoring.wheel.requirements import requirements
from opbridge.build.toolchains import BuildRequest, build

KERNEL = """\
#include <opbridge/kernel.h>
template <class T>
void same(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[i];
}
OB_KERNEL(same, float, %s)
"""


@pytest.mark.parametrize(("other", "more"), [("double", []), ("ob::bfloat16", ["ml_dtypes"])])
def test_a_package_with_bfloat16_requires_it_for_numpy(tmp_path: Path, other: str, more: list[str]) -> None:
    (tmp_path / "same.cpp").write_text(KERNEL % other)
    library = build(BuildRequest((tmp_path / "same.cpp",), "same.so")).path
    assert requirements([library]) == (f"opbridge>={opbridge.__version__}", *more)
