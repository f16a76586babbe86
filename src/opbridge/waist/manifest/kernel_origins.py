"""The origin of an operator's kernel for one device: a source file, a library, or an operator of another library."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from opbridge.base.errors import Location, ManifestError, did_you_mean
from opbridge.base.names import is_identifier

DEVICES = {
    "cpu": "the host's processor",
    "cuda": "NVIDIA GPUs",
    "npu": "Ascend NPUs",
    "cuda-twin": "CUDA source run on the CPU, where no GPU is",
    "ascend-twin": "Ascend C source run on the CPU, where no NPU is",
}


@dataclass(frozen=True)
class Twin:
    """A device that runs the kernels of another device on the CPU."""

    of: str
    """The other device, whose kernels the twin runs."""
    variable: str
    """The environment variable that makes every library run these kernels on the CPU, unless it is `0` or empty."""
    what: str
    """The name of such a kernel in messages."""

    @property
    def is_asked_for(self) -> bool:
        """Whether the environment enables the twin for every library."""
        return os.environ.get(self.variable, "0") not in ("", "0")


TWINS = {
    "cuda-twin": Twin("cuda", "OPBRIDGE_CUDA_TWIN", "CUDA kernel"),
    "ascend-twin": Twin("npu", "OPBRIDGE_ASCEND_TWIN", "Ascend C kernel"),
}

_OTHER_NAMES = {"gpu": "cuda", "nvidia": "cuda", "ascend": "npu", "host": "cpu", "c++": "cpu"}
_OPERATOR = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", re.ASCII)
_LIBRARY = re.compile(r"\.so(\.[0-9]+)*$")
_FORMS = "expected file.cpp, file.cpp:symbol, lib.so:symbol, tvm_ffi:lib.so:function or aten::operator"

TVM_FFI = "tvm_ffi:"
"""The prefix of a library whose functions have the tvm-ffi calling convention."""


def is_operator(text: str) -> bool:
    """Return whether the text is the name of an operator, such as aten::leaky_relu."""
    return _OPERATOR.fullmatch(text) is not None


def is_library(path: str) -> bool:
    """Return whether the path is that of a shared library."""
    return _LIBRARY.search(path) is not None


@dataclass(frozen=True)
class KernelRef:
    """One kernel: `path` and `symbol` of a file, or an `operator` such as aten::leaky_relu."""

    device: str
    path: str | None = None
    symbol: str | None = None
    operator: str | None = None
    has_tvm_ffi_call: bool = False
    """Whether the file is a library and the symbol a function as tvm-ffi hosts name it."""
    source: str | None = None
    """The text of a kernel generated from a formula; `path` is then only a name."""
    where: Location | None = field(default=None, compare=False)
    """The place in the manifest that names the kernel."""

    @classmethod
    def parse(
        cls, device: str, text: str, *, default_symbol: str | None = None, where: Location | None = None
    ) -> KernelRef:
        """Parse one of the forms of a kernel reference.

        Raises:
            ManifestError: The device is unknown, or the text has none of the forms.
        """
        if device not in DEVICES:
            meant = _OTHER_NAMES.get(device.lower())
            hint = f"write {meant}" if meant else did_you_mean(device, DEVICES) or f"devices: {', '.join(DEVICES)}"
            raise ManifestError(f"unknown device '{device}'", where, hint)
        has_tvm_ffi_call, text = text.startswith(TVM_FFI), text.removeprefix(TVM_FFI)
        if is_operator(text) and not has_tvm_ffi_call:
            return cls(device, operator=text, where=where)
        path, colon, symbol = text.rpartition(":")
        if not colon:
            path, symbol = text, default_symbol or ""
        elif not is_identifier(symbol):
            raise ManifestError(f"'{symbol}' is not the name of a function; {_FORMS}", where)
        if not PurePosixPath(path).suffix or not path.isprintable() or path != path.strip():
            raise ManifestError(f"'{path}' is not the name of a source or library; {_FORMS}", where)
        if has_tvm_ffi_call and not is_library(path):
            raise ManifestError(f"'{path}' is not a library of tvm-ffi; expected {TVM_FFI}lib.so:function", where)
        return cls(device, path=path, symbol=symbol or None, has_tvm_ffi_call=has_tvm_ffi_call, where=where)

    @property
    def is_library(self) -> bool:
        """Whether the file is a library to open, not a source to compile."""
        return self.path is not None and is_library(self.path)

    def may_say_outputs(self, default_symbol: str) -> bool:
        """Return whether it may be an aot function, which a function that describes the outputs can accompany."""
        return self.is_library or (self.path is not None and self.symbol not in (None, default_symbol))

    @property
    def is_pytorchs_own(self) -> bool:
        """Whether it is an `aten::` operator, of which PyTorch knows all rules."""
        return self.operator is not None and self.operator.startswith("aten::")

    def text(self, default_symbol: str | None = None) -> str:
        """Return the text that `parse` reads, without the symbol if that is the default."""
        if self.operator is not None:
            return self.operator
        file = f"{TVM_FFI if self.has_tvm_ffi_call else ''}{self.path}"
        # The text after the last colon would be parsed as the symbol.
        is_default = self.symbol in (None, default_symbol) and ":" not in (self.path or "")
        return file if is_default else f"{file}:{self.symbol}"

    def __str__(self) -> str:
        return self.text()

    def check_inside(self, root: Path | None, where: Location | None) -> None:
        """Check that the path stays in the manifest's folder, by name and after symbolic links.

        Raises:
            ManifestError: The path leaves the folder or cannot name a file.
        """
        if self.path is None:
            return
        hint = "copy the file into the folder, or load with allow_outside=True"
        if PurePosixPath(self.path).is_absolute():
            raise ManifestError(f"'{self.path}' is absolute; expected a path from the manifest's folder", where, hint)
        depth = 0
        for part in PurePosixPath(self.path).parts:
            depth += -1 if part == ".." else 1
            if depth < 0:
                raise ManifestError(f"'{self.path}' leaves the manifest's folder", where, hint)
        _check_file_name(self.path, where)
        if root is not None:
            real = Path(os.path.realpath(root / self.path))
            if not real.is_relative_to(os.path.realpath(root)):
                raise ManifestError(f"'{self.path}' leads out of the manifest's folder, to {real}", where, hint)


def _check_file_name(path: str, where: Location | None) -> None:
    if "\0" in path:
        raise ManifestError(f"{path!r} cannot name a file: it holds a zero byte", where)
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        message = f"'{path}' cannot name a file here: the locale's encoding, {error.encoding}, lacks a letter of it"
        raise ManifestError(message, where, "use UTF-8: export LC_ALL=C.UTF-8, or PYTHONUTF8=1") from None
