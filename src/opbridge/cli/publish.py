"""Publish everything that a process will look up in its cache to a shared one, for `opbridge build --publish`."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path

from opbridge.build.cache import Cache
from opbridge.build.cache.shared import SharedCache, SigningKey


def publish(libraries: Sequence[Path], folder: Path, cache: Cache, key: SigningKey | None) -> str:
    """Add the libraries and the installed frameworks' adapters; return a sentence with the number of new results."""
    shared = SharedCache(folder.absolute())
    results = [*libraries, *_adapters(cache)]
    new = sum(cache.publish(library.parent, shared, key) for library in results)
    there = f", {len(results) - new} were there" if new < len(results) else ""
    return f"{new} {'result' if new == 1 else 'results'} published into {folder}{there}"


def _adapters(cache: Cache) -> Iterator[Path]:
    from opbridge.build.toolchains.torch_install import TorchInstall

    if (torch := TorchInstall.at_hand()) is not None:
        from opbridge.frameworks.torch.native import build_adapter

        yield build_adapter(torch, cache)
    if importlib.util.find_spec("jax") is not None:
        from opbridge.build.toolchains import build
        from opbridge.frameworks.jax.handler import request

        yield build(request(), cache).path
