"""Which language the kernels of a device are written in, for the devices this version builds."""

from __future__ import annotations

from opbridge.errors import UnsupportedError
from opbridge.sources.store import LANGUAGES


def language_of(device: str) -> str:
    if device not in LANGUAGES:
        raise UnsupportedError(f"this version builds kernels for {', '.join(LANGUAGES)}, not yet for {device}")
    return LANGUAGES[device]
