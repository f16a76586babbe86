"""Find the PyTorch of this environment without importing it."""

from __future__ import annotations

import importlib.util
import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from opbridge.base.errors import ToolchainError

OLDEST = (2, 10)

_VERSION_LINE = re.compile(r"^(\w+)(?:: [\w\[\]]+)? = '([^']*)'", re.MULTILINE)


@dataclass(frozen=True)
class TorchInstall:
    """An installed PyTorch: its folder, version and git revision."""

    folder: Path
    version: str
    revision: str

    @classmethod
    def found(cls) -> TorchInstall:
        """Return the PyTorch that `import torch` would import.

        Raises:
            ToolchainError: PyTorch is not installed.
        """
        install = cls.at_hand()
        if install is None:
            raise ToolchainError("torch is not installed; install it with `pip install torch`")
        return install

    @classmethod
    def at_hand(cls) -> TorchInstall | None:
        """Return the PyTorch that `import torch` would import; None if there is none."""
        spec = importlib.util.find_spec("torch")
        return cls.at(Path(spec.origin).parent) if spec is not None and spec.origin is not None else None

    @classmethod
    def at(cls, folder: Path) -> TorchInstall:
        """Return the PyTorch in a package folder, as its version.py describes it."""
        said = dict(_VERSION_LINE.findall((folder / "version.py").read_text()))
        return cls(folder, said.get("__version__", "0.0"), said.get("git_version", ""))

    @property
    def public_version(self) -> str:
        """The version without the build variant: 2.13.0+cpu and 2.13.0+cu130 have the same C++ interface."""
        return self.version.partition("+")[0]

    @property
    def built_for(self) -> tuple[str, ...]:
        """Identify what a module must be compiled for to work with this PyTorch and Python."""
        python = str(sysconfig.get_config_var("EXT_SUFFIX"))
        return ("torch", self.public_version, self.revision, "python", python)

    @property
    def include_dirs(self) -> tuple[Path, ...]:
        """The include folders of PyTorch's C++ headers."""
        include = self.folder / "include"
        return (include, include / "torch" / "csrc" / "api" / "include")

    @property
    def lib(self) -> Path:
        """The folder of PyTorch's shared libraries."""
        return self.folder / "lib"

    @property
    def has_cuda(self) -> bool:
        """Whether this PyTorch was built with CUDA."""
        return (self.lib / "libtorch_cuda.so").is_file()

    def check_version(self) -> None:
        """Raise a ToolchainError if this PyTorch is older than OLDEST."""
        numbers = tuple(int(part) for part in self.version.split("+")[0].split(".")[:2])
        if numbers < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise ToolchainError(f"expected PyTorch {oldest} or newer, got {self.version}; `pip install -U torch`")
