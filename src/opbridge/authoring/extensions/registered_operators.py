"""The operators that a source registers, found by loading its library and asking PyTorch for new ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from opbridge.authoring.extensions.imported_library import has_device, operators_of
from opbridge.base.errors import Location, ManifestError, UnsupportedError, did_you_mean
from opbridge.build.cache import Cache
from opbridge.build.sources.store import source_request
from opbridge.build.sources.torch_registrations import registers
from opbridge.build.toolchains import BuiltLibrary, build
from opbridge.waist.manifest.kernel_origins import TWINS, KernelRef

if TYPE_CHECKING:
    from opbridge.waist.manifest import OpSpec


def with_operators(op: OpSpec, root: Path, cache: Cache, allow_outside: bool) -> OpSpec:
    """Return the operator with registered operators in place of the sources that register them.

    Raises:
        ManifestError: The kernels do not all register the same operator.
    """
    if not any(registers(kernel, root) for kernel in op.kernels):
        return op
    own = next((kernel for kernel in op.kernels if not registers(kernel, root)), None)
    if own is not None:
        raise ManifestError(
            f"{op.schema.full_name}: {own} for {own.device} does not mix with sources that register operators",
            op.where,
            "PyTorch finds one operator's kernels for all devices: register all of them, or none",
        )
    if not allow_outside:
        for kernel in op.kernels:
            kernel.check_inside(root, op.where)
    # The CPU source comes first: it defines the operators that the others implement.
    kernels = sorted(op.kernels, key=lambda kernel: kernel.device != "cpu")
    names = frozenset[str]().union(*[_loaded(kernel, root, cache) for kernel in kernels])
    operators = {_named(kernel, op, names) for kernel in kernels}
    if len(operators) > 1:
        raise ManifestError(
            f"{op.schema.full_name}: its kernels are different operators, {sorted(operators)}", op.where
        )
    (operator,) = operators
    return replace(op, kernels=tuple(KernelRef(kernel.device, operator=operator) for kernel in op.kernels))


def operator_of(
    ref: KernelRef, schema_name: str, root: Path, cache: Cache, begun: Callable[[], BuiltLibrary] | None
) -> str:
    """Return the operator that one source registers; its symbol or `schema_name` selects one of several."""
    return _choose(ref.symbol or schema_name, _loaded(ref, root, cache, begun), str(ref), None)


def _loaded(
    ref: KernelRef, root: Path, cache: Cache, begun: Callable[[], BuiltLibrary] | None = None
) -> frozenset[str]:
    """Return the operators of one source, or none if this process lacks its device."""
    if ref.device in TWINS:
        raise UnsupportedError(
            f"{ref} registers its kernels for tensors on {TWINS[ref.device].of}, which the CPU's are not\n"
            "  name it for that device, and run the program by `opbridge twin run`, which provides such tensors"
        )
    if not has_device(ref.device):
        return frozenset()
    path = ref.path or ""
    built = begun() if begun else build(source_request(root, path, ref.device), cache)
    return operators_of(Path(path).stem, built.path)


def _named(ref: KernelRef, op: OpSpec, names: frozenset[str]) -> str:
    return _choose(ref.symbol or op.schema.name, names, str(ref), op.where)


def _choose(name: str, names: frozenset[str], source: str, where: Location | None) -> str:
    plain = sorted({full.partition(".")[0] for full in names})
    fitting = [full for full in plain if full.partition("::")[2] == name]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise ManifestError(
            f"{source} registers {' and '.join(fitting)}", where, "put one of them into a separate file"
        )
    known = [full.partition("::")[2] for full in plain]
    hint = did_you_mean(name, known) or f"it registers {', '.join(plain) or 'nothing'}; name one by FILE:NAME"
    raise ManifestError(f"{source} registers no operator '{name}'", where, hint)
