"""Verdicts on operators that were tried before on this machine, cached by all that they depend on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from opbridge.build.cache import Cache
from opbridge.build.cache.store import Key, KeyBuilder
from opbridge.models.scan.trials import probe
from opbridge.models.scan.verdicts import ScannedOperator, State, Verdict


def verdicts_on(operators: Iterable[ScannedOperator], framework: str, device: str, cache: Cache) -> dict[str, Verdict]:
    """Return a framework's verdicts on operators as they were called, and try only those that are not cached.

    A failure is not cached: the machine may have caused it.
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
