"""Build on import the simulated NPU and the headers that answer bindings need, unless they are in the cache.

This also imports the stand-in for torch_npu.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from opbridge.authoring.extensions.operator_projects import binding
from opbridge.twins.ascend.stand_in_package import PACKAGE, folder

sys.path.insert(0, str(folder()))
__import__(PACKAGE)

_BINDING = """
#include <torch/extension.h>
#include "pytorch_npu_helper.hpp"

at::Tensor warm(const at::Tensor& x) {
  EXEC_NPU_CMD(aclnnWarm, x, x);
  return x;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("warm", &warm); }
"""

with tempfile.TemporaryDirectory() as place:
    source = Path(place, "warm.cpp")
    source.write_text(_BINDING, encoding="utf-8")
    binding("opbridge_warm_npu", [source])
