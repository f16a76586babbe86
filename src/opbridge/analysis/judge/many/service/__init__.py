"""Judge submissions that programs send by HTTP: `opbridge judge --serve`."""

from __future__ import annotations

from opbridge.analysis.judge.many.service.requests import Token
from opbridge.analysis.judge.many.service.server import Settings, serve

__all__ = ["Settings", "Token", "serve"]
