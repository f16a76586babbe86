"""op-plugin's dialect, one entry with `gen_opapi` at a time."""

from __future__ import annotations

from pathlib import Path

from opbridge.codegen.backend import Backend
from opbridge.codegen.generator import sources
from opbridge.codegen.inputs import Inputs, Wish

HEAD = "all_version: [v2.7]\ncustom:\n"


def entry(func: str, generated: str) -> str:
    return f"  - func: {func}\n    op_api: all_version\n    gen_opapi: {{{generated}}}\n"


def backend_of(tmp_path: Path, *entries: str, namespace: str = "mine") -> Backend:
    path = tmp_path / "plugin.yaml"
    path.write_text(HEAD + "".join(entries))
    return Inputs.read([path], Wish(namespace=namespace)).backend()


def made(tmp_path: Path, *entries: str, namespace: str = "mine") -> dict[str, str]:
    return sources(backend_of(tmp_path, *entries, namespace=namespace))
