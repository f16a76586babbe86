"""Write the folder that the Hugging Face `kernels` package loads: NAME/build/VARIANT.

It contains a module, libraries and metadata.json.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from opbridge.base.errors import InputError

METADATA = "metadata.json"

_NAME = re.compile(r"[a-z][-a-z0-9]*[a-z0-9]")


@dataclass(frozen=True)
class HubKernel:
    """One build of a kernel for the Hugging Face hub: its files and what its metadata say."""

    name: str
    """The name on the hub, such as "my-kernel"."""
    framework: str
    """The framework part of the variant: "torch213-cxx11" or "torch-stable-abi210"."""
    backend: str
    version: int
    license: str | None
    python_needs: tuple[str, ...]
    files: Mapping[str, bytes]

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            hint = "small letters, digits and '-' can; give it one with --name"
            raise InputError(f"'{self.name}' cannot name a kernel of the hub", hint=hint)

    @property
    def package(self) -> str:
        """The name of the Python package."""
        return self.name.replace("-", "_")

    @property
    def variant(self) -> str:
        """The name of the build folder; a kernel of Python code alone has no machine in it."""
        return f"{self.framework}-{self.backend}" + (
            f"-{os.uname().machine}-linux" if self.framework != "torch" else ""
        )

    def metadata(self) -> bytes:
        """Return the contents of metadata.json."""
        digest = hashlib.sha256()
        for place, content in sorted(self.files.items()):
            digest.update(f"{len(place)} {place} {len(content)} ".encode() + content)
        said = {
            # Python names the module after it, so different contents need different ids.
            "id": f"_{self.package}_{self.backend}_{digest.hexdigest()[:12]}",
            "name": self.name,
            "version": self.version,
            **({"license": self.license} if self.license else {}),
            "python-depends": list(self.python_needs),
            "backend": {"type": self.backend},
        }
        return (json.dumps(said, indent=2) + "\n").encode()


def write_kernel(folder: Path, kernel: HubKernel, accept: Callable[[Path], None]) -> Path:
    """Write the variant in one step and return its folder; other variants of the kernel stay.

    `accept` is called first with a folder that contains the package under its name; if it raises, nothing is
    written.

    Raises:
        InputError: The target is not a kernel, or cannot be written.
    """
    target = folder / kernel.name / "build" / kernel.variant
    if os.path.lexists(target) and not (target / METADATA).is_file():
        raise InputError(f"{target} exists and is not a kernel", hint="name another folder with -o")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as beside:
            package = Path(beside, kernel.package)
            for place, content in {**kernel.files, METADATA: kernel.metadata()}.items():
                (package / place).parent.mkdir(parents=True, exist_ok=True)
                (package / place).write_bytes(content)
            accept(Path(beside))
            if target.exists():
                target.rename(Path(beside, "old"))
            package.rename(target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}") from None
    return target
