"""What a package that `opbridge wheel` made does when it is imported.

Packages in the world call `open_library` by this place and name, with wheels older than the opbridge beside them.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from pathlib import Path

from opbridge.errors import KernelError, OpbridgeError
from opbridge.frameworks.importing import when_imported
from opbridge.frameworks.torch.native import add_prebuilt
from opbridge.loading import load_package
from opbridge.op import OpLibrary
from opbridge.wheel.variants import processor_features, suitable

KERNELS = "_kernels"
"""The package's folder of manifests, one for each kind of processor, with their libraries."""

ADAPTERS = "adapters"
"""The folder in it of PyTorch adapters that came along."""


def open_library(package: str, file: str) -> OpLibrary:
    """The operators of a package that is being imported from `file`, with the kernels that suit this processor best."""
    folder = Path(file).parent / KERNELS
    manifests = [folder / variant.manifest for variant in suitable(processor_features())]
    # A wheel may be older than a variant.
    manifest = next((path for path in manifests if path.is_file()), None)
    if manifest is None:
        raise KernelError(f"expected {manifests[-1]}; the package is incomplete, install it again")
    add_prebuilt(folder / ADAPTERS)
    library = load_package(manifest, (_library_of, (package,)))
    if "torch" not in sys.modules:  # otherwise loading has defined them
        when_imported("torch", lambda: _define_in_torch(library))
    return library


def _library_of(package: str) -> OpLibrary:
    library: OpLibrary = importlib.import_module(package)._library
    return library


def _define_in_torch(library: OpLibrary) -> None:
    """Exported programs look operators up by name, so they must be there before the first call of one."""
    try:
        for op in library:
            op.torch  # noqa: B018 - asking for one defines all
            return
    except OpbridgeError as error:
        # `import torch` must not fail for a package that may only be used with another framework.
        warnings.warn(f"the operators of {library.namespace} are not to be had in PyTorch: {error}", stacklevel=1)
