"""C++ extensions for the simulated device, as a setup.py imports them from torch_npu.utils.cpp_extension."""

from __future__ import annotations

from typing import Any

from setuptools import Extension
from torch.utils import cpp_extension

from opbridge.twins import ascend
from opbridge.twins.ascend.stand_in_package import PACKAGE, folder
from opbridge.twins.ascend.toolchain import runtime


def NpuExtension(name: str, sources: list[str], *args: Any, **kwargs: Any) -> Extension:  # noqa: N802
    """Return a CppExtension that finds the torch_npu and acl headers and is linked with the acl of the twin."""
    library, package = runtime(), folder() / PACKAGE
    kwargs["include_dirs"] = [*(kwargs.get("include_dirs") or ()), str(package / "include"), str(ascend.INCLUDE)]
    kwargs["library_dirs"] = [*(kwargs.get("library_dirs") or ()), str(package / "lib")]
    kwargs["extra_link_args"] = [*(kwargs.get("extra_link_args") or ()), *ascend.link_flags(library)]
    kwargs["libraries"] = [*(kwargs.get("libraries") or ()), PACKAGE]
    extension: Extension = cpp_extension.CppExtension(name, sources, *args, **kwargs)
    return extension
