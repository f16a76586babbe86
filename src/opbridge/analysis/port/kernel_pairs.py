"""Find the operators for which two files both have a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opbridge.analysis.port.cuda_host_function import hosted, keys_of, shown
from opbridge.analysis.port.shapes import output_shapes
from opbridge.analysis.port.signatures import Guess, guess
from opbridge.analysis.port.trial import ORIGINAL, PORT, SIDES, Pair
from opbridge.base.errors import InputError, did_you_mean
from opbridge.base.safe_open import read_file, real_path
from opbridge.build.cxx.ascend_kernels import AscendKernel, read_kernels
from opbridge.build.sources.standalone import symbols_of_source
from opbridge.waist.manifest import Manifest, OpSpec
from opbridge.waist.manifest.kernel_origins import TWINS, KernelRef
from opbridge.waist.rules.launch import BLOCKS
from opbridge.waist.schema import Schema

MANIFEST = "ops.yaml"
"""The manifest to look for next to the original."""


@dataclass(frozen=True)
class Said:
    """The options that describe the operator, in addition to the two files."""

    manifest: Path | None = None
    schema: str | None = None
    out: str | None = None
    shapes: str | None = None
    launch: Mapping[str, str] | None = None


@dataclass(frozen=True)
class _Source:
    """A file, and the kernel in it that the user named."""

    path: Path
    symbol: str | None

    @classmethod
    def of(cls, text: str) -> _Source:
        path, colon, symbol = text.rpartition(":")
        made = cls(Path(path), symbol) if colon else cls(Path(text), None)
        if not made.path.is_file():
            raise InputError(f"there is no file {made.path}", hint="expected original.cu port.cpp, or FILE:KERNEL")
        return made

    def is_of(self, spec: OpSpec, side: str) -> bool:
        """Return whether the manifest declares this file as a kernel of the operator on that side."""
        for ref in _refs(spec, side):
            is_file = ref.path is not None and real_path((spec.root or Path()) / ref.path) == real_path(self.path)
            if is_file and self.symbol in (None, ref.symbol or spec.schema.name):
                return True
        return False


def pairs_of(original: str, port: str, said: Said = Said()) -> list[Pair]:
    """Return the pairs of kernels in two files, each given as FILE or FILE:KERNEL.

    The operator comes from the schema that the user gave, else from a manifest that declares both kernels, else
    from the kernel parameters.

    Raises:
        InputError: A file is missing, or the kernels cannot be paired.
    """
    sources = {ORIGINAL: _Source.of(original), PORT: _Source.of(port)}
    if said.schema is None and (declared := _declared(sources, said)):
        return declared
    schema = None
    if said.schema is not None:
        schema = Schema.parse(said.schema if "::" in said.schema else f"port_check::{said.schema}")
    names = {side: _symbols(source) for side, source in sources.items()}
    if (bare := _bare(sources[ORIGINAL], names)) is not None:
        return [_started(sources, bare, names[PORT], schema, said)]
    both = [name for name in names[ORIGINAL] if name in names[PORT]] or [""]
    wanted = [schema.name] if schema is not None else both
    chosen = [tuple(_chosen(source, names[side], name) for side, source in sources.items()) for name in wanted]
    if schema is not None:
        return [_pair(sources, symbols, schema, None, said) for symbols in chosen]
    guesses = [guess(sources[ORIGINAL].path, symbols[0]) for symbols in chosen]
    return [
        _pair(sources, symbols, Schema.parse(guessed.schema), guessed, said)
        for symbols, guessed in zip(chosen, guesses, strict=True)
    ]


def _refs(spec: OpSpec, side: str) -> list[KernelRef]:
    twin = SIDES[side]
    return [ref for ref in spec.kernels if ref.device in (twin, TWINS[twin].of)]


def _declared(sources: Mapping[str, _Source], said: Said) -> list[Pair]:
    path = said.manifest or sources[ORIGINAL].path.parent / MANIFEST
    if said.manifest is None and not path.is_file():
        return []
    manifest = Manifest.decode(read_file(path), path.absolute(), allow_outside=True)
    specs = [spec for spec in manifest.ops if all(source.is_of(spec, side) for side, source in sources.items())]
    if not specs and said.manifest is not None:
        raise InputError(
            f"{path} has no operator with {sources[ORIGINAL].path.name} as its kernel for cuda and "
            f"{sources[PORT].path.name} as that for npu",
            hint=f"as in kernels: {{cuda: {sources[ORIGINAL].path.name}, npu: {sources[PORT].path.name}}}",
        )
    return [Pair((_absolute(spec, sources),), said.shapes) for spec in specs]


def _absolute(spec: OpSpec, sources: Mapping[str, _Source]) -> OpSpec:
    """Return the declaration with the two kernels only, each for its twin."""
    kernels = []
    for side, source in sources.items():
        ref = next(ref for ref in _refs(spec, side) if ref.path is not None)
        kernels.append(replace(ref, device=SIDES[side], path=str(source.path.absolute())))
    return replace(spec, kernels=tuple(kernels))


def _bare(original: _Source, names: Mapping[str, list[str]]) -> AscendKernel | None:
    """Return the selected kernel if it is bare, so that no host function starts it; otherwise None.

    Raises:
        InputError: The kernel is a template or in a namespace, where opbridge cannot start it.
    """
    read = read_kernels(original.path)
    if read is None or (symbols_of_source(original.path) and original.symbol not in read.global_functions):
        return None
    both = [name for name in names[ORIGINAL] if name in names[PORT]]
    chosen = _chosen(original, names[ORIGINAL], both[0] if len(both) == 1 else "")
    found = next((kernel for kernel in read.kernels if kernel.name == chosen), None)
    if found is None and chosen in read.global_functions:
        raise InputError(
            f"{original.path.name}: {chosen} is a template, or in a namespace, and opbridge cannot start it",
            hint="write a function on opbridge/kernel.h that does, followed by OB_KERNEL(name)",
        )
    return found


def _started(
    sources: Mapping[str, _Source], bare: AscendKernel, ports: list[str], schema: Schema | None, said: Said
) -> Pair:
    """Return the pair of a bare CUDA kernel, started by a generated function, and its port."""
    original, port, launch = sources[ORIGINAL].path, sources[PORT].path, said.launch or {}
    symbol = _chosen(sources[PORT], ports, bare.name)
    read = read_kernels(port)
    of_port = next((kernel for kernel in read.kernels if kernel.name == symbol), None) if read else None
    taken = {BLOCKS, *(one.name for one in of_port.parameters)} if of_port else set()
    if strange := sorted(set(launch) - keys_of(bare) - taken):
        known = sorted(keys_of(bare) | taken)
        raise InputError(f"--launch {strange[0]}: neither kernel takes it", hint=did_you_mean(strange[0], known))
    guessed = shown(original, bare, launch) if schema is None else None
    known_schema = Schema.parse(guessed.schema) if guessed else schema
    assert known_schema is not None
    path, function = hosted(original, bare, known_schema, launch)
    for_port = replace(said, launch={key: text for key, text in launch.items() if key in taken})
    started = {ORIGINAL: _Source(path, function), PORT: sources[PORT]}
    return _pair(started, (function, symbol), known_schema, guessed, for_port)


def _symbols(source: _Source) -> list[str]:
    """Return the named kernel of a file; without a name its host functions, or its bare kernels if it has none."""
    names = sorted(symbols_of_source(source.path))
    read = read_kernels(source.path)
    bare = [kernel.name for kernel in read.kernels] if read else []
    if source.symbol is None:
        return names or bare
    if names and source.symbol not in (*names, *bare):
        hint = did_you_mean(source.symbol, [*names, *bare]) or f"it has {', '.join(names)}"
        raise InputError(f"{source.path.name} has no kernel '{source.symbol}'", hint=hint)
    return [source.symbol]


def _chosen(source: _Source, names: list[str], wanted: str) -> str:
    """Return the kernel named `wanted`, or the only one; raise InputError if that is ambiguous."""
    if wanted in names:
        return wanted
    if len(names) == 1:
        return names[0]
    if names:
        which = f"{source.path.name} has several kernels: {', '.join(names)}"
        raise InputError(which, hint=f"say which: {source.path}:{names[0]}")
    raise InputError(
        f"{source.path.name} has no function that hosts can call",
        hint="add one on opbridge/kernel.h that launches the kernel, followed by OB_KERNEL(name)",
    )


def _pair(
    sources: Mapping[str, _Source], symbols: tuple[str, ...], known: Schema, guessed: Guess | None, said: Said
) -> Pair:
    kernels = {
        SIDES[side]: f"{source.path.absolute()}:{symbol}"
        for (side, source), symbol in zip(sources.items(), symbols, strict=True)
    }
    rules: dict[str, Any] = {"launch": dict(said.launch)} if said.launch else {}
    specs = [OpSpec.create(known, kernels=kernels, **rules, **out) for out in _outs(known, guessed, said)]
    return Pair(tuple(specs), said.shapes)


def _outs(schema: Schema, guessed: Guess | None, said: Said) -> list[dict[str, Any]]:
    """Return the possible rules of the outputs: one if it is known, otherwise the likely ones."""
    if not schema.new_outputs:
        return [{}]
    if said.out is not None:
        return [{"out": {"shape": said.out} if said.out.startswith("[") else said.out}]
    shapes = [output_shapes(said.shapes, schema)] if said.shapes else guessed.outputs if guessed else []
    if not shapes:
        raise InputError(f"{schema} does not give the shape of its output", hint="--out x, or --shapes 'm n -> m n'")
    dtypes = [{"dtype": dtype} for dtype in guessed.dtypes] if guessed else [{}] * len(schema.new_outputs)
    return [{"out": [{"shape": shape, **dtype} for shape, dtype in zip(each, dtypes, strict=True)]} for each in shapes]
