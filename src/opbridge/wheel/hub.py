"""The folder that Hugging Face's `kernels` loads: NAME/build/VARIANT with a module, libraries and metadata.json."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from opbridge.errors import InputError

METADATA = "metadata.json"

_NAME = re.compile(r"[a-z][-a-z0-9]*[a-z0-9]")


@dataclass(frozen=True)
class HubKernel:
    name: str
    """As in "my-kernel"."""
    framework: str
    """As variants name it: "torch213-cxx11" or "torch-stable-abi210"."""
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
        return self.name.replace("-", "_")

    @property
    def variant(self) -> str:
        """A kernel in Python alone is for every machine."""
        return f"{self.framework}-{self.backend}" + (
            f"-{os.uname().machine}-linux" if self.framework != "torch" else ""
        )

    def metadata(self) -> bytes:
        digest = hashlib.sha256()
        for place, content in sorted(self.files.items()):
            digest.update(f"{len(place)} {place} {len(content)} ".encode() + content)
        said = {
            # Python knows the module by it, so each content has its own.
            "id": f"_{self.package}_{self.backend}_{digest.hexdigest()[:12]}",
            "name": self.name,
            "version": self.version,
            **({"license": self.license} if self.license else {}),
            "python-depends": list(self.python_needs),
            "backend": {"type": self.backend},
        }
        return (json.dumps(said, indent=2) + "\n").encode()


def write_kernel(folder: Path, kernel: HubKernel, accept: Callable[[Path], None]) -> Path:
    """Writes the variant in one step; other variants of the kernel stay.

    `accept` is given a folder where the package lies under its name, and may raise.
    """
    target = folder / kernel.name / "build" / kernel.variant
    if os.path.lexists(target) and not (target / METADATA).is_file():
        raise InputError(f"{target} is there already, and is no kernel", hint="name another folder with -o")
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
