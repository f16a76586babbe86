"""Judge submissions that programs send by HTTP: `opbridge judge --serve`."""

from __future__ import annotations

from opbridge.judging.service.requests import Token
from opbridge.judging.service.serving import Settings, serve

__all__ = ["Settings", "Token", "serve"]
