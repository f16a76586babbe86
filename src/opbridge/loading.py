"""`ob.load`, `ob.inline` and `ob.aot`: from a user's files to operators."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from opbridge.cache import Cache, KeyBuilder
from opbridge.errors import CallError, ManifestError, SchemaError
from opbridge.frameworks.runtime import LibraryRuntime
from opbridge.native.catalog import Catalog
from opbridge.op import Op, OpLibrary
from opbridge.sources import KernelStore

if TYPE_CHECKING:
    from opbridge.manifest import Manifest

MANIFEST_SUFFIXES = (".yaml", ".yml")


def load(
    path: str | os.PathLike[str],
    *,
    schema: str | None = None,
    out: object = None,
    derivatives: Mapping[str, str] | None = None,
    backward: object = None,
    batch: str | None = None,
    shard: str | None = None,
    flops: str | None = None,
    samples: Iterable[Mapping[str, object]] = (),
    device: str = "cpu",
    allow_outside: bool = False,
) -> Any:
    """The operators of an ops.yaml as an OpLibrary, or one kernel file with its schema as an Op.

    Builds what changed and takes the rest from the cache.  A kernel file may carry its symbol: "lib.so:symbol".
    """
    rules = _rules(out, derivatives, backward, batch, shard, flops, samples)
    text = os.fspath(path)
    if Path(text).suffix in MANIFEST_SUFFIXES:
        if schema is not None or rules:
            given = ", ".join(["schema"] * (schema is not None) + list(rules))
            raise CallError(f"load('{text}'): {given} stands in the manifest, not in the call")
        return _load_manifest(Path(os.path.abspath(text)), allow_outside)
    if schema is None:
        raise CallError(
            f"load('{text}') needs a schema, such as "
            f'schema="mylib::{Path(text).stem}(Tensor x) -> Tensor", out="x"; a manifest ends in .yaml'
        )
    return _load_file(os.path.abspath(text), schema, device, tuple(rules.items()))


def inline(
    source: str,
    *,
    schema: str,
    out: object = None,
    derivatives: Mapping[str, str] | None = None,
    backward: object = None,
    batch: str | None = None,
    shard: str | None = None,
    flops: str | None = None,
    samples: Iterable[Mapping[str, object]] = (),
    device: str = "cpu",
) -> Op:
    """An operator from the text of its kernel."""
    rules = _rules(out, derivatives, backward, batch, shard, flops, samples)
    return _load_text(source, schema, device, tuple(rules.items()))


def aot(library: str, *, schema: str, **rules: Any) -> Op:
    """An operator from somebody's library with the plain C call: "custom_add.so:CustomAdd"."""
    if ".so" not in library:
        raise CallError(f"aot('{library}'): expected a library and its function, such as 'custom_add.so:CustomAdd'")
    return cast(Op, load(library, schema=schema, **rules))


def _rules(
    out: object,
    derivatives: object,
    backward: object,
    batch: object,
    shard: object,
    flops: object,
    samples: Iterable[Mapping[str, object]],
) -> dict[str, Any]:
    given = {"out": out, "derivatives": derivatives, "backward": backward}
    given |= {"batch": batch, "shard": shard, "flops": flops, "samples": tuple(samples) or None}
    return {name: value for name, value in given.items() if value is not None}


def _load_manifest(path: Path, allow_outside: bool) -> OpLibrary:
    cache = Cache()

    def manifest() -> Manifest:
        # Imported where one is read: what the cache holds of a manifest needs neither its parser nor that of its rules.
        from opbridge.manifest import Manifest

        return Manifest.load(path, allow_outside=allow_outside)

    try:
        text = path.read_bytes()
    except OSError:
        manifest()  # says what is wrong, and what lies near
        raise

    def compile_catalog() -> bytes:
        declared = manifest()
        return Catalog.of(declared.namespace, declared.ops).to_bytes()

    key = KeyBuilder("catalog").add("manifest", text).add("outside", str(allow_outside)).key()
    stored = cache.fetch_value(key, compile_catalog)
    with _collector_paused():
        catalog = Catalog.from_bytes(stored)
    kernels = KernelStore(catalog, path.parent, cache, allow_outside)
    kernels.build("cpu")
    with _collector_paused():
        reopen = (_load_manifest, (path, allow_outside))
        return LibraryRuntime(catalog, kernels, lambda: manifest().ops, reopen).library()


@contextmanager
def _collector_paused() -> Iterator[None]:
    """For making thousands of objects that all stay: they would send Python's collector through all of PyTorch's."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _load_file(path: str, schema: str, device: str, rules: tuple[tuple[str, Any], ...]) -> Op:
    folder, name = os.path.split(path)
    return _load_one(Path(folder), name, schema, device, rules, Cache(), (_load_file, (path, schema, device, rules)))


def _load_text(source: str, schema: str, device: str, rules: tuple[tuple[str, Any], ...]) -> Op:
    cache = Cache()
    symbol = schema.partition("(")[0].rpartition("::")[2].partition(".")[0].strip() or "kernel"
    path = cache.keep(f"{symbol}.cpp", source)
    reopen = (_load_text, (source, schema, device, rules))
    return _load_one(path.parent, f"{path.name}:{symbol}", schema, device, rules, cache, reopen)


def _load_one(
    root: Path,
    kernel: str,
    schema: str,
    device: str,
    rules: tuple[tuple[str, Any], ...],
    cache: Cache,
    reopen: Any,
) -> Op:
    from opbridge.manifest import DEVICES, OpSpec

    if device not in DEVICES:
        raise ManifestError(f"unknown device '{device}'", None, f"devices: {', '.join(DEVICES)}")
    spec = OpSpec.create(schema, kernels={device: kernel}, root=root, **dict(rules))
    if spec.schema.namespace is None:
        raise SchemaError(f"the schema needs a namespace: mylib::{spec.schema}")
    catalog = Catalog.of(spec.schema.namespace, [spec])
    kernels = KernelStore(catalog, root, cache)
    if device == "cpu":
        kernels.build("cpu")
    return LibraryRuntime(catalog, kernels, lambda: (spec,), reopen).op(0)
