"""Caches without kernels that have what a machine builds once: adapters, the twins' libraries, precompiled headers."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from opbridge.build.cache import Cache
from opbridge.build.toolchains.torch_install import TorchInstall
from opbridge.frameworks.torch.native import build_adapter
from opbridge.twins.ascend import toolchain as ascend_twin
from opbridge.twins.cuda import toolchain as cuda_twin

_ONCE = ("opbridge_torch_adapter.so", "opbridge_jax_handler.so", "opbridge_npu.so", "libopbridge_")
_BIG = 10 << 20


def fill(root: Path) -> Path:
    """For tests of what a build says, to which a minute of PyTorch's headers would add nothing.

    The adapter for PyTorch and the twins' libraries are there in any case; of the others, what this machine's cache has
    by now.
    """
    root.mkdir(mode=0o700, parents=True)
    build_adapter(TorchInstall.found())
    for twin in (cuda_twin, ascend_twin):
        twin.runtime()
    lasting = Cache()
    for entry in lasting.entries():
        if any(name.startswith(_ONCE) or name.endswith(".gch") for name in entry.files):
            place = root / entry.path.relative_to(lasting.root)
            with suppress(FileNotFoundError, shutil.Error):  # what another process removes, or has not finished
                shutil.copytree(entry.path, place, copy_function=_copied, dirs_exist_ok=True)
                shutil.copy2(entry.path.parent / "index", place.parent)
    return root


def _copied(source: str, target: str) -> None:
    """A link where it is too much to copy, and nothing that a test might damage."""
    (os.symlink if os.path.getsize(source) > _BIG else shutil.copy2)(source, target)
