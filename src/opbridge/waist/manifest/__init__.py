"""The `ops.yaml` manifest: the declarations of a library of operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opbridge.waist.manifest.fields import json_schema
    from opbridge.waist.manifest.kernel_origins import DEVICES, KernelRef
    from opbridge.waist.manifest.library_declaration import Manifest, ManifestErrors, OpSpec
    from opbridge.waist.manifest.samples import Sample, TensorSample

__all__ = ["DEVICES", "KernelRef", "Manifest", "ManifestErrors", "OpSpec", "Sample", "TensorSample", "json_schema"]

_HOMES = {
    "json_schema": "fields",
    "DEVICES": "kernel_origins",
    "KernelRef": "kernel_origins",
    "Manifest": "library_declaration",
    "ManifestErrors": "library_declaration",
    "OpSpec": "library_declaration",
    "Sample": "samples",
    "TensorSample": "samples",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use: a library loaded from the cache does not need the manifest reader."""
    if name not in _HOMES:
        raise AttributeError(f"module 'opbridge.waist.manifest' has no attribute '{name}'")
    import importlib

    value = getattr(importlib.import_module(f"opbridge.waist.manifest.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
