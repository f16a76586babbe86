"""Verdicts on operators that were tried once on this machine, by all that they depend on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from opbridge.cache import Cache
from opbridge.cache.store import Key, KeyBuilder
from opbridge.scan.model import ScannedOperator, State, Verdict
from opbridge.scan.probing import probe


def verdicts_on(operators: Iterable[ScannedOperator], framework: str, device: str, cache: Cache) -> dict[str, Verdict]:
    """What a framework makes of operators as they were called; only what no cache knows is tried.

    That one failed is not kept: it may have been the machine.
    """
    keys = {each.name: (_key(each, framework, device), each) for each in operators}
    entries = {name: cache.find(key) for name, (key, _) in keys.items()}
    known = {name: _read((entry.path / "value").read_bytes()) for name, entry in entries.items() if entry}
    left = [each for name, (_, each) in keys.items() if name not in known]
    tried = probe(left, framework).verdicts if left else {}
    for name, verdict in tried.items():
        if verdict.state is not State.FAILS:
            cache.fetch_value(keys[name][0], lambda verdict=verdict: _written(verdict))  # type: ignore[misc]
    return {**known, **tried}


def _key(operator: ScannedOperator, framework: str, device: str) -> Key:
    key = KeyBuilder(f"{framework}-verdict").add("device", device).add("operator", operator.name)
    for package in (framework, "torch", "numpy"):
        key.add(package, version(package))
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        key.add("source", source.read_bytes())
    for signature in sorted(map(repr, operator.signatures)):
        key.add("signature", signature)
    return key.key()


def _written(verdict: Verdict) -> bytes:
    return json.dumps([verdict.state.value, verdict.path, verdict.reason, verdict.form]).encode()


def _read(text: bytes) -> Verdict:
    state, path, reason, form = json.loads(text)
    return Verdict(State(state), path, reason, form)
