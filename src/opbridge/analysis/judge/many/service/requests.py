"""Read the requests of clients, and refuse invalid ones with an explanation."""

from __future__ import annotations

import hmac
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opbridge.analysis.judge.answer.submissions import KERNELS, POLICIES, Options, Submission
from opbridge.base.errors import InputError
from opbridge.base.safe_open import read_file

_FIELDS = {"reference": str, "answer": str, "language": str, "sizes": dict, "seed": int, "policy": str}
_LANGUAGES = {"python": ".py", "cuda": ".cu", "c++": ".cpp", "json": ".json"}
_SHORTEST, _LONGEST = 16, 4096


def submission_of(body: bytes, timeout: float) -> Submission:
    """Read a submission from the JSON body of a request; clients cannot choose the timeout.

    Raises:
        InputError: The body is invalid.
    """
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        raise InputError("the body is not JSON") from None
    if not isinstance(fields, dict):
        raise InputError("the body is not a JSON object")
    for name, value in fields.items():
        kind = _FIELDS.get(name)
        if kind is None:
            raise InputError(f"there is no field {name!r:.40}; there are {', '.join(_FIELDS)}")
        if type(value) is not kind:
            raise InputError(f"{name}: expected {kind.__name__}, got {type(value).__name__}")
    for name in ("reference", "answer"):
        if name not in fields:
            raise InputError(f"{name} is not there")
    return _submission(fields, timeout)


def _submission(fields: dict[str, Any], timeout: float) -> Submission:
    language = fields.get("language", "python")
    if language not in _LANGUAGES:
        raise InputError(f"language: expected one of {', '.join(_LANGUAGES)}, got {language!r:.40}")
    policy = fields.get("policy", KERNELS)
    if policy not in POLICIES:
        raise InputError(f"policy: expected one of {', '.join(POLICIES)}, got {policy!r:.40}")
    sizes = json.dumps(fields["sizes"]).encode() if "sizes" in fields else b""
    task, answer = (fields[name].encode("utf-8", "replace") for name in ("reference", "answer"))
    return Submission(task, answer, _LANGUAGES[language], sizes, Options(fields.get("seed"), timeout, policy))


@dataclass(frozen=True)
class Token:
    """The secret that clients show to be allowed to submit."""

    value: bytes

    @classmethod
    def read(cls, file: Path) -> Token:
        """Read the token from a file that only its owner can read; raise InputError otherwise."""
        try:
            mode = os.stat(file).st_mode
            value = read_file(file, limit=_LONGEST).strip()
        except OSError as error:
            raise InputError(f"{file}: {error.strerror}", hint="it holds the token that clients show") from None
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise InputError(f"{file} is a secret that others may read", hint=f"chmod 600 {file}")
        if len(value) < _SHORTEST:
            hint = f"python3 -c 'import secrets; print(secrets.token_urlsafe())' > {file}"
            raise InputError(f"the token in {file} is shorter than {_SHORTEST} letters", hint=hint)
        return cls(value)

    def fits(self, header: str) -> bool:
        """Return whether an Authorization header has the token; comparing takes constant time."""
        scheme, _, shown = header.partition(" ")
        same = hmac.compare_digest(shown.strip().encode("utf-8", "replace"), self.value)
        return same and scheme.lower() == "bearer"
