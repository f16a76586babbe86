"""A framework that is installed and does not work: the others go on, and whoever calls it is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from subprocesses import succeed

KERNEL = """\
#include <opbridge/kernel.h>
void halved(ob::In<float> x, ob::Out<float> out) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[i] / 2;
}
OB_KERNEL(halved)
"""
MANIFEST = "namespace: broken\nops:\n  - {func: halved(Tensor x) -> Tensor, out: x, kernels: {cpu: halved.cpp}}\n"
USE = """\
import sys
sys.path.insert(0, sys.argv[1])
try:
    import torch
except OSError:
    pass
import numpy as np
import opbridge as ob
library = ob.load(sys.argv[1] + "/ops.yaml")
assert library.halved(np.ones(2, np.float32)).tolist() == [0.5, 0.5]
try:
    library.halved.torch
except ob.errors.ToolchainError as error:
    assert "torch is here and does not work: " in str(error), error
    assert "pip install torch" in str(error), error
else:
    raise AssertionError("it is broken")
"""


@pytest.mark.real_process
@pytest.mark.parametrize(
    "module",
    [
        pytest.param("__version__ = '2.13.0'", id="empty"),
        pytest.param("raise OSError('libtorch.so: cannot open shared object file')", id="a library is missing"),
        pytest.param("import sys, types\nsys.modules[__name__] = types.ModuleType('torch')", id="a stand-in"),
    ],
)
def test_numpy_goes_on_and_the_framework_says_what_is_wrong(tmp_path: Path, module: str) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(module)
    (tmp_path / "halved.cpp").write_text(KERNEL)
    (tmp_path / "ops.yaml").write_text(MANIFEST)
    succeed(USE, str(tmp_path))
