"""ops.yaml: the declarations of a library of operators."""

from __future__ import annotations

from opbridge.manifest.fields import json_schema
from opbridge.manifest.kernels import DEVICES, KernelRef
from opbridge.manifest.model import Manifest, ManifestErrors, OpSpec
from opbridge.manifest.samples import Sample, TensorSample

__all__ = ["DEVICES", "KernelRef", "Manifest", "ManifestErrors", "OpSpec", "Sample", "TensorSample", "json_schema"]
