"""Open the operators of an installed package that `opbridge wheel` made.

Published packages call `open_library` by this module and name, and their wheels may be older than the installed
opbridge. Do not rename or move it.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from pathlib import Path

from opbridge.authoring.loading import load_package
from opbridge.authoring.wheel.variants import processor_features, suitable
from opbridge.base.errors import KernelError, OpbridgeError
from opbridge.frameworks.import_hooks import when_imported
from opbridge.frameworks.torch.native import add_prebuilt
from opbridge.waist.op import OpLibrary

KERNELS = "_kernels"
"""The package folder of the manifests, one for each kind of processor, and their libraries."""

ADAPTERS = "adapters"
"""The folder in KERNELS of the PyTorch adapters that the wheel includes."""


def open_library(package: str, file: str) -> OpLibrary:
    """Return the operators of a package whose `file` is being imported, with the kernels that fit this processor best.

    Raises:
        KernelError: The package has no manifest for this processor.
    """
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
    """Define the operators in PyTorch: exported programs look them up by name, even before the first call."""
    try:
        for op in library:
            op.torch  # noqa: B018 - asking for one defines all
            return
    except OpbridgeError as error:
        # `import torch` must not fail for a package that may only be used with another framework.
        warnings.warn(f"the operators of {library.namespace} are not available in PyTorch: {error}", stacklevel=1)
