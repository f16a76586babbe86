"""The functions `ob.load`, `ob.inline`, `ob.formula`, `ob.aot`, `ob.tvm_ffi` and `ob.aten`, which create operators."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from opbridge.base.errors import CallError, ManifestError, SchemaError, ToolchainError, for_users
from opbridge.base.safe_open import read_file
from opbridge.build.cache import Cache, KeyBuilder
from opbridge.build.sources import KernelStore
from opbridge.build.sources.store import source_request
from opbridge.build.sources.torch_registrations import registers
from opbridge.build.toolchains import BuiltLibrary, begin
from opbridge.frameworks import FRAMEWORKS, installed
from opbridge.frameworks.library_runtime import LibraryRuntime, Reopen
from opbridge.native.catalog import Catalog, code_stamp
from opbridge.waist.manifest.kernel_origins import DEVICES, TVM_FFI, TWINS, KernelRef, is_library, is_operator
from opbridge.waist.op import Op, OpLibrary

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from opbridge.waist.manifest import Manifest, OpSpec
    from opbridge.waist.rules.operator_rules import RuleFields
    from opbridge.waist.schema import Schema

Given = tuple[tuple[str, Any], ...]
"""The rules of a call, by name."""

MANIFEST_SUFFIXES = (".yaml", ".yml")
_LONGEST_NAME = 100
"""The longest file name in the cache, because file systems limit names to 255 bytes."""


@for_users
def load(
    path: str | os.PathLike[str],
    *,
    schema: str | None = None,
    device: str = "cpu",
    allow_outside: bool = False,
    **rules: Unpack[RuleFields],
) -> Any:
    """Load the operators of an ops.yaml, or one kernel file with its schema.

    Only changed kernels are built; the others come from the cache.

    Args:
        path: An ops.yaml, a kernel file, "lib.so:symbol", or an operator registered with PyTorch ("extension::muladd").
        schema: The schema of a kernel file, in PyTorch's notation.
        device: The device of a kernel file. With "cuda-twin" the CUDA kernels of a library run on the CPU, with
            "ascend-twin" those in Ascend C.
        allow_outside: Permit kernels outside the manifest's folder.
        rules: Fields of an ops.yaml: out, derivatives, backward, batch, shard, flops, launch, samples.

    Returns:
        An OpLibrary for a manifest, an Op for one kernel or operator.

    Raises:
        CallError: The arguments do not fit together.
        InputError: The manifest, schema or a rule is invalid.
        BuildError: The compiler rejects a kernel.
        ToolchainError: No compiler works.

    Example:
        lib = ob.load("ops.yaml")
        print(lib.scaled_add(np.ones(3), np.ones(3), alpha=2.0))  # [3. 3. 3.]
    """
    given = _given(rules)
    text = _path_text("load", path, "ops.yaml")
    if Path(text).suffix in MANIFEST_SUFFIXES:
        if schema is not None or given:
            raise _said_twice(text, ["schema"] * (schema is not None) + [name for name, _ in given])
        if device not in ("cpu", *TWINS):
            twins = " and ".join(f'device="{name}" runs those for {twin.of} on the CPU' for name, twin in TWINS.items())
            raise CallError(
                f"load('{text}', device={device!r}): a manifest says itself which kernels are for {device}; {twins}"
            )
        return _load_manifest(Path(_absolute(text)), allow_outside, device)
    if is_operator(text):
        return _load_operator(text, schema, given)
    if os.path.isdir(text):
        raise CallError(f"load('{text}'): this is a folder; name the file in it: '{os.path.join(text, 'ops.yaml')}'")
    if schema is None:
        raise CallError(
            f"load('{text}') needs a schema, such as "
            f'schema="mylib::{Path(text).stem}(Tensor x) -> Tensor", out="x"; a manifest ends in .yaml'
        )
    return _load_file(_absolute(text), schema, device, given)


def load_package(manifest: Path, reopen: Reopen) -> OpLibrary:
    """Load the manifest of an installed package.

    `reopen` is the call that a pickle makes to find the package again, wherever it is then installed.
    """
    return _load_manifest(manifest, allow_outside=False, device="cpu", reopen=reopen)


@for_users
def inline(source: str, *, schema: str, device: str = "cpu", **rules: Unpack[RuleFields]) -> Op:
    '''Create an operator from the text of its kernel.

    Args:
        source: C++ with `opbridge/kernel.h`, CUDA or Ascend C.
        schema: The schema, in PyTorch's notation.
        device: The device of the kernel: "cpu", "cuda", "npu", "cuda-twin" or "ascend-twin".
        rules: Fields of an ops.yaml: out, derivatives, backward, batch, shard, flops, launch, samples.

    Returns:
        The operator.

    Raises:
        InputError: The schema or a rule is invalid.
        BuildError: The compiler rejects the kernel.

    Example:
        cube = ob.inline(
            """
            #include <opbridge/kernel.h>
            void cube(ob::In<double> x, ob::Out<double> out) {
              for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] * x[i] * x[i];
            }
            OB_KERNEL(cube)
            """,
            schema="reference::cube(Tensor x) -> Tensor",
            out="x",
            derivatives={"x": "3 * x**2 * grad"},
        )
        print(cube(np.array([1.0, 2.0])))  # [1. 8.]
    '''
    given = _given(rules)
    return _load_text(_kernel_text(source), schema, device, given)


@for_users
def formula(schema: str, text: str, *, device: str | None = None, **rules: Unpack[RuleFields]) -> Op:
    """Create an operator from a formula.

    Kernels, shapes and gradients follow from the formula.

    Args:
        schema: The schema, in PyTorch's notation.
        text: One line of mathematics, after optional lines that name parts.
        device: Generate the kernel for this device only; the default is all devices. A twin takes CPU tensors.
        rules: Fields of an ops.yaml that replace derived rules. They must not contradict the formula.

    Returns:
        The operator.

    Raises:
        CallError: The formula is not a string.
        InputError: The schema or the formula is invalid.

    Example:
        silu = ob.formula("reference::silu(Tensor x) -> Tensor", "x * sigmoid(x)")
        print(silu(np.array([0.0, 1.0])))  # [0.         0.73105858]
    """
    if not isinstance(text, str):
        raise CallError(f"formula() expects a formula such as 'x * sigmoid(x)', got {_described(text)}")
    return _load_formula(schema, text, device, _given(rules))


def _load_formula(schema: str, text: str, device: str | None, rules: Given) -> Op:
    from opbridge.waist.manifest import OpSpec

    parsed = _parsed(schema)
    twin = device if device in TWINS else None
    specs = OpSpec.of_formula(parsed, text, device=TWINS[twin].of if twin else device, **dict(rules))
    catalog = Catalog.of(parsed.namespace or "", specs)
    kernels = KernelStore(catalog, Path(), Cache(), allow_outside=True, twin=twin)
    return LibraryRuntime(catalog, kernels, lambda: specs, (_load_formula, (schema, text, device, rules))).op(0)


@for_users
def aot(library: str | os.PathLike[str], *, schema: str, device: str = "cpu", **rules: Unpack[RuleFields]) -> Op:
    """Create an operator from a function with the plain C call (MindSpore's aot entry point).

    Args:
        library: A library and a function: "custom_add.so:CustomAdd".
        schema: The schema, in PyTorch's notation.
        device: The device of the function.
        rules: Fields of an ops.yaml: out, derivatives, backward, batch, shard, flops, launch, samples.

    Returns:
        The operator.

    Raises:
        CallError: The text does not name a library.

    Example:
        add = ob.aot("custom_add.so:CustomAdd", schema="mylib::add(Tensor x, Tensor y) -> Tensor", out="x")
    """
    text = _library_text("aot", library, "custom_add.so:CustomAdd")
    return cast(Op, load(text, schema=schema, device=device, **rules))


@for_users
def tvm_ffi(library: str | os.PathLike[str], *, schema: str, device: str = "cpu", **rules: Unpack[RuleFields]) -> Op:
    """Create an operator from a tvm-ffi function, which takes its outputs last.

    Args:
        library: A library and a function: "add_one.so:add_one".
        schema: The schema, in PyTorch's notation.
        device: The device of the function.
        rules: Fields of an ops.yaml: out, derivatives, backward, batch, shard, flops, launch, samples.

    Returns:
        The operator.

    Raises:
        CallError: The text does not name a library.

    Example:
        add_one = ob.tvm_ffi("add_one.so:add_one", schema="mylib::add_one(Tensor x) -> Tensor", out="x")
    """
    text = _library_text("tvm_ffi", library, "add_one.so:add_one")
    return cast(Op, load(TVM_FFI + text, schema=schema, device=device, **rules))


@for_users
def aten(name: str) -> Op:
    """Return a PyTorch operator for tensors of every framework.

    Args:
        name: "leaky_relu", "add.Tensor" for one overload, or "torchvision::nms" if that is loaded.

    Returns:
        The operator, with PyTorch's kernels and gradients.

    Raises:
        CallError: The argument is not a name.
        ToolchainError: PyTorch is not installed.

    Example:
        softshrink = ob.aten("softshrink")
        print(softshrink(np.array([-1.0, 0.2, 2.0])))  # [-0.5  0.   1.5]
    """
    if not isinstance(name, str) or not name:
        raise CallError(f"aten() expects the name of an operator such as 'leaky_relu', got {_described(name)}")
    _need_torch("aten", name)
    from opbridge.frameworks.aten.aten_runtime import open_operator

    return open_operator(name)


def _need_torch(function: str, operator: str) -> None:
    framework = FRAMEWORKS["torch"]
    if not installed(framework):
        raise ToolchainError(
            f"{function}('{operator}') is PyTorch's, which is not installed; install it with `{framework.install}`"
        )


def _path_text(function: str, path: object, example: str) -> str:
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise CallError(f"{function}() expects a path such as '{example}', got {_described(path)}")
    return text


def _library_text(function: str, library: object, example: str) -> str:
    text = _path_text(function, library, example)
    if not is_library(text.partition(":")[0]):
        raise CallError(f"{function}('{text}'): expected a library and its function, such as '{example}'")
    return text


def _absolute(text: str) -> str:
    call = TVM_FFI if text.startswith(TVM_FFI) else ""
    try:
        return call + os.path.abspath(text.removeprefix(call))
    except FileNotFoundError:
        raise CallError(f"'{text}' starts at the current folder, which was deleted; give an absolute path") from None


def _kernel_text(source: object) -> str:
    if isinstance(source, str):
        with suppress(UnicodeEncodeError):
            return source.encode().decode()
    raise CallError(f"inline() expects the text of a kernel, got {_described(source)}; load() takes files")


def _described(value: object) -> str:
    return f"{type(value).__name__} {value!r:.60}"


def _given(rules: RuleFields) -> Given:
    samples = rules.get("samples", ())
    if not isinstance(samples, Iterable):
        raise CallError(f"samples: expected a list of inputs, got {_described(samples)}")
    said: dict[str, Any] = {**rules, "samples": tuple(samples) or None}
    return tuple((name, value) for name, value in said.items() if value is not None)


def _said_twice(text: str, names: list[str]) -> CallError:
    from opbridge.waist.rules.operator_rules import check_keywords

    check_keywords(name for name in names if name != "schema")
    return CallError(f"load('{text}'): {', '.join(names)} belongs in the manifest, not in the call")


def _load_manifest(path: Path, allow_outside: bool, device: str, reopen: Reopen | None = None) -> OpLibrary:
    cache = Cache()

    def manifest() -> Manifest:
        # Imported here because a catalog from the cache needs neither the parser of manifests nor that of rules.
        from opbridge.waist.manifest import Manifest

        # Use the data that was already read: the file may have changed since.
        return Manifest.decode(data, path, allow_outside=allow_outside)

    try:
        data = read_file(path)
    except OSError:
        from opbridge.waist.manifest.yaml_reader import read_bytes

        data = read_bytes(path)  # raises an error that says what is wrong and lists similar names

    def compile_catalog() -> bytes:
        with _collector_paused():
            declared = manifest()
            return Catalog.of(declared.namespace, declared.ops).to_bytes()

    key = KeyBuilder("catalog").add("code", code_stamp()).add("manifest", data).add("outside", str(allow_outside))
    stored = cache.fetch_value(key.key(), compile_catalog)
    with _collector_paused():
        catalog = Catalog.from_bytes(stored)
    specs = _registered(catalog, path.parent, manifest, cache, allow_outside)
    if specs is not None:
        catalog = Catalog.of(catalog.namespace, specs)
    kernels = KernelStore(catalog, path.parent, cache, allow_outside, twin=device, manifest=path)
    kernels.build("cpu")
    with _collector_paused():
        reopen = reopen or (_load_manifest, (path, allow_outside, device))
        return LibraryRuntime(catalog, kernels, lambda: specs or manifest().ops, reopen).library()


def _registered(
    catalog: Catalog, root: Path, manifest: Callable[[], Manifest], cache: Cache, allow_outside: bool
) -> tuple[OpSpec, ...] | None:
    """Return the operators of a manifest with sources that register some of them; None if none does."""
    if not any(registers(ref, root) for kernels in catalog.kernels for ref in kernels):
        return None
    from opbridge.authoring.extensions.registered_operators import with_operators

    return tuple(with_operators(op, root, cache, allow_outside) for op in manifest().ops)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Disable garbage collection while creating thousands of lasting objects.

    Otherwise these would trigger collections that traverse all of PyTorch's objects.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _load_file(path: str, schema: str, device: str, rules: Given) -> Op:
    call = TVM_FFI if path.startswith(TVM_FFI) else ""
    folder, name = os.path.split(path.removeprefix(call))
    reopen = (_load_file, (path, schema, device, rules))
    return _load_one(Path(folder), call + name, schema, device, rules, Cache(), reopen)


def _load_operator(name: str, schema: str | None, rules: Given) -> Op:
    if schema is None and not rules:
        return aten(name)
    _need_torch("load", name)
    if schema is None:
        from opbridge.frameworks.aten.aten_operator import AtenOperator

        schema = str(AtenOperator.one(name).schema)
    reopen = (_load_operator, (name, schema, rules))
    return _load_one(Path(), name, schema, "cpu", rules, Cache(), reopen)


def _load_text(source: str, schema: str, device: str, rules: Given) -> Op:
    cache = Cache()
    symbol = _parsed(schema).name
    suffix = ".cu" if device in ("cuda", "cuda-twin") else ".cpp"
    path = cache.keep(f"{symbol[:_LONGEST_NAME]}{suffix}", source)
    reopen = (_load_text, (source, schema, device, rules))
    return _load_one(path.parent, f"{path.name}:{symbol}", schema, device, rules, cache, reopen)


def _parsed(schema: object) -> Schema:
    from opbridge.waist.schema import Schema

    if not isinstance(schema, str):
        raise CallError(f'expected a schema such as "mylib::f(Tensor x) -> Tensor", got {_described(schema)}')
    parsed = Schema.parse(schema)
    if parsed.namespace is None:
        raise SchemaError(f"the schema needs a namespace: mylib::{parsed}")
    return parsed


def _load_one(
    root: Path,
    kernel: str,
    schema: str,
    device: str,
    rules: Given,
    cache: Cache,
    reopen: Any,
) -> Op:
    if not isinstance(device, str) or device not in DEVICES:
        raise ManifestError(f"unknown device '{device}'", None, f"devices: {', '.join(DEVICES)}")
    begun = _begun(root, kernel, device, cache)
    from opbridge.waist.manifest import OpSpec

    parsed = _parsed(schema)
    ref = KernelRef.parse(device, kernel)
    if registers(ref, root):
        from opbridge.authoring.extensions.registered_operators import operator_of

        kernel, begun = operator_of(ref, parsed.name, root, cache, begun), None
    spec = OpSpec.create(parsed, kernels={device: kernel}, root=root, **dict(rules))
    catalog = Catalog.of(parsed.namespace or "", [spec])
    # A file that the user named may be anywhere, also at the end of a link.
    kernels = KernelStore(catalog, root, cache, allow_outside=True, begun=begun)
    kernels.build("cpu")
    return LibraryRuntime(catalog, kernels, lambda: (spec,), reopen).op(0)


def _begun(root: Path, kernel: str, device: str, cache: Cache) -> Callable[[], BuiltLibrary] | None:
    """Start the compiler before the schema and rules are read, because it takes longest."""
    path = kernel.rpartition(":")[0] or kernel
    # An Ascend C build also depends on the schema.
    if device not in ("cpu", "cuda-twin") or is_library(path) or not os.path.isfile(root / path):
        return None
    return begin(source_request(root, path, device), cache)
