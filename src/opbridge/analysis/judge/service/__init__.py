"""Judge submissions that programs send by HTTP: `opbridge judge --serve`."""

from __future__ import annotations

from opbridge.analysis.judge.service.requests import Token
from opbridge.analysis.judge.service.serving import Settings, serve

__all__ = ["Settings", "Token", "serve"]
