"""What is changed in CUB's headers for a compiler that reads them itself."""

from __future__ import annotations

import pytest

from opbridge.twins.cuda.cccl import qualified


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("using WarpScan = WarpScan<T, 32>;", "using WarpScan = ::cub::WarpScan<T, 32>;"),
        ("using Scan  = typename Scan<T>::Inner;", "using Scan  = typename ::cub::Scan<T>::Inner;"),
        ("using Scan = WarpScan<T>;", "using Scan = WarpScan<T>;"),
        ("using Scan = ScanOf<T>;", "using Scan = ScanOf<T>;"),
    ],
)
def test_a_class_names_what_it_calls_as_itself(written: str, meant: str) -> None:
    """nvcc lets an alias in a class have the name of what it stands for; g++ does not."""
    assert qualified(written) == meant
