"""`opbridge judge --serve`: judges what programs hand in by HTTP."""

from __future__ import annotations

from opbridge.judging.service.requests import Token
from opbridge.judging.service.serving import Settings, serve

__all__ = ["Settings", "Token", "serve"]
