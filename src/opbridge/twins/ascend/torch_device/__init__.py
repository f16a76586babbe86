"""The simulated `npu` of PyTorch: importing it makes `x.npu()`, `torch.npu` and `torch.device("npu")` work on a CPU.

The devices are those of the Ascend C twin, so that its kernels run on their memory.
"""

from __future__ import annotations

import faulthandler
import io
import os
import sys
from pathlib import Path

import torch

from opbridge.base.errors import InputError, UnsupportedError
from opbridge.build.sources.store import SIMULATED
from opbridge.twins.ascend.device_for_torch import DEVICE
from opbridge.twins.ascend.torch_device import native, npu_module

DEVICES = "OPBRIDGE_NPU_DEVICES"
"""The environment variable that sets the number of devices."""

BINDING_HEADERS = Path(__file__).with_name("include")
"""The folder of pytorch_npu_helper.hpp, which defines the EXEC_NPU_CMD macro that bindings call."""

_DEFAULT_DEVICES = 2
_MOST_DEVICES = 16
_UNNAMED = "privateuseone"


def _count_of_devices() -> int:
    text = os.environ.get(DEVICES, str(_DEFAULT_DEVICES))
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_DEVICES:
        raise InputError(f"{DEVICES} is {text!r}; expected the number of simulated devices, 1 to {_MOST_DEVICES}")
    return int(text)


def _refuse_another_backend() -> None:
    name = torch._C._get_privateuse1_backend_name()
    if name == _UNNAMED:
        return
    what = "torch_npu is loaded, whose devices are real" if "torch_npu" in sys.modules else f"it is {name!r} already"
    raise UnsupportedError(
        f"opbridge.npu: PyTorch takes one additional device in a process, and {what}\n"
        "  import opbridge.npu in a process without it"
    )


def _register() -> None:
    _refuse_another_backend()
    count = _count_of_devices()
    library = native.load()
    torch.utils.rename_privateuse1_backend("npu")
    DEVICE.start(library, count)
    torch._register_device_module("npu", npu_module)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    SIMULATED["npu"] = "ascend-twin"
    if torch.distributed.is_available():
        from opbridge.twins.ascend.torch_device import communication  # requires a PyTorch built with gloo

        communication.install()
    _show_where_it_ends()


def _show_where_it_ends() -> None:
    """Enable faulthandler, so that reading device memory on the host reports the Python line too."""
    try:
        if not faulthandler.is_enabled():
            faulthandler.enable()
    except (io.UnsupportedOperation, AttributeError, ValueError):
        return  # stderr is not a file, as in notebooks


_register()
