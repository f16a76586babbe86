"""A wheel that would not import is never there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from opbridge.authoring.wheel.archive import Metadata, write_wheel
from opbridge.authoring.wheel.import_check import import_wheel
from opbridge.base.errors import BuildError
from opbridge.build.cache import Cache


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    metadata = Metadata("tried", "1.0", "a package", ">=3.10", ())
    placed = {f"tried/{name}": content for name, content in files.items()}
    return write_wheel(folder, metadata, "py3-none-any", placed, lambda wheel: import_wheel(wheel, "tried", Cache()))


def test_what_imports_is_written(tmp_path: Path) -> None:
    manifest = b"namespace: tried\nops: []\n"
    wheel = write(tmp_path, {"__init__.py": b"import opbridge\n", "_kernels/ops.portable.yaml": manifest})
    assert wheel.is_file()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"__init__.py": b"from nothing_of_this_name import f\n"}, "No module named 'nothing_of_this_name'"),
        ({"__init__.py": b"import os\nos._exit(5)\n"}, "Python ended with 5"),
        ({"__init__.py": b"", "_kernels/ops.avx2.yaml": b"namespace: m\nops: 3\n"}, r"ops\.avx2\.yaml:2:6: expected"),
    ],
)
def test_what_does_not_is_not(tmp_path: Path, files: Mapping[str, bytes], said: str) -> None:
    with pytest.raises(BuildError, match=f"(?s)tried would not import from it:.*{said}"):
        write(tmp_path, files)
    assert list(tmp_path.iterdir()) == []
