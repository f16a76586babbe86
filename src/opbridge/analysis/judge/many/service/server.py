"""Serve HTTP: POST /judgements, GET /judgements/ID, GET /health."""

from __future__ import annotations

import asyncio
import math
import re
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from opbridge._version import __version__
from opbridge.analysis.judge.judgement import Judgement
from opbridge.analysis.judge.many.kept_verdicts import Verdicts
from opbridge.analysis.judge.many.service.queue import Desk, FullError
from opbridge.analysis.judge.many.service.requests import Token, submission_of
from opbridge.analysis.judge.process.prepared import Prepared
from opbridge.base.errors import InputError, OpbridgeError

LARGEST = 2 << 20
"""The most bytes of a request."""
_READING, _LONGEST_WAIT, _RETRY = 30.0, 300.0, 5
"""Seconds: for a body to arrive, the longest wait of a client, and the delay before a client should retry."""
_KEY = re.compile(r"[0-9a-f]{40}")
_FOLDERS = re.compile(r"(?<![\w.:/])/(?:[\w.+@~%-]+/)+(?=[\w.])")
_STOPPING = "the service stops; hand it in again"


@dataclass(frozen=True)
class Settings:
    """The options of the service."""

    folder: Path
    """The folder of the kept verdicts."""
    host: str = "127.0.0.1"
    port: int = 8765
    """The port; 0 for any free port."""
    token: Token | None = None
    jobs: int = 1
    most: int = 1000
    """The most submissions that may wait or be judged at a time."""
    timeout: float = 60.0


def serve(settings: Settings, on_ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; `on_ready` is called with the address.

    Raises:
        InputError: The host is reachable from other machines and there is no token, or the port cannot be
            opened.
    """
    if settings.token is None and not _is_this_machine(settings.host):
        raise InputError(
            f"without a token anybody who reaches {settings.host} could have code run here",
            hint="--token-file FILE, or leave out --host: then only this machine reaches it",
        )
    asyncio.run(_serve(settings, on_ready))


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


async def _serve(settings: Settings, on_ready: Callable[[str], None]) -> None:
    web = _library()
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def stopping(number: signal.Signals) -> None:
        stop.set()
        loop.remove_signal_handler(number)  # a second signal ends the process at once

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping, number)
    with Prepared() as prepared:
        desk = Desk(Verdicts(settings.folder), prepared, jobs=settings.jobs, most=settings.most)
        runner = web.AppRunner(_application(web, desk, settings, stop), access_log=None, handle_signals=False)
        await runner.setup()
        site = web.TCPSite(runner, settings.host, settings.port)
        try:
            await site.start()
        except OSError as error:
            raise InputError(f"{settings.host}:{settings.port}: {error.strerror}", hint="name another --port") from None
        host, port = runner.addresses[0][:2]
        on_ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")
        await stop.wait()
        await site.stop()
        await desk.stop()
        await runner.cleanup()


def _library() -> Any:
    try:
        from aiohttp import web
    except ImportError:
        raise InputError("judge --serve needs aiohttp", hint="pip install aiohttp") from None
    return web


def _application(web: Any, desk: Desk, settings: Settings, stop: asyncio.Event) -> Any:
    service = _Service(web, desk, settings, stop)

    async def guard(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        return await service.guard(request, handler)  # a middleware cannot be a method

    application = web.Application(client_max_size=LARGEST, middlewares=[web.middleware(guard)])
    application.router.add_get("/health", service.health)
    application.router.add_post("/judgements", service.hand_in)
    application.router.add_get("/judgements/{key}", service.look_up)
    return application


@dataclass(frozen=True)
class _Service:
    web: Any
    desk: Desk
    settings: Settings
    stop: asyncio.Event

    async def guard(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Refuse a request without the token before anything else is read, and report HTTP errors as JSON."""
        token = self.settings.token
        shown = request.headers.get("Authorization", "")
        if token is not None and request.path != "/health" and not token.fits(shown):
            return self._error(401, "the token is missing or wrong", {"WWW-Authenticate": "Bearer"})
        try:
            return await handler(request)
        except self.web.HTTPRequestEntityTooLarge:
            return self._error(413, f"a request has {LARGEST} bytes at most")
        except self.web.HTTPException as error:
            return self._error(error.status, error.reason)

    async def health(self, request: Any) -> Any:
        state = "stopping" if self.stop.is_set() else "ready"
        fields = {"state": state, "waiting": self.desk.waiting, "most": self.settings.most, "version": __version__}
        return self.web.json_response(fields)

    async def hand_in(self, request: Any) -> Any:
        if request.content_type != "application/json":
            return self._error(415, "expected Content-Type: application/json")
        try:
            body = await asyncio.wait_for(request.read(), _READING)
        except asyncio.TimeoutError:
            return self._error(408, f"the body took longer than {_READING:g} s")
        try:
            submission = submission_of(body, self.settings.timeout)
            if self.stop.is_set():
                return self._busy(_STOPPING)
            self.desk.hand_in(submission)
        except InputError as error:
            return self._error(400, str(error))
        except FullError:
            return self._busy(f"{self.settings.most} wait already")
        return await self._told(request, submission.key)

    async def look_up(self, request: Any) -> Any:
        key = request.match_info["key"]
        if not _KEY.fullmatch(key) or not (self.desk.has(key) or self.desk.known(key)):
            return self._error(404, "nothing of this id was handed in, or it failed long ago")
        return await self._told(request, key)

    async def _told(self, request: Any, key: str) -> Any:
        found = await self.desk.outcome(key, _seconds(request.query.get("wait", "")))
        headers = {"Location": f"/judgements/{key}"}
        if isinstance(found, Judgement):
            shown = without_folders(found.to_json())
            return self.web.Response(text=shown, content_type="application/json", headers=headers)
        if isinstance(found, OpbridgeError):
            # A bad task is an error of the client; everything else is an error of this machine.
            return self._error(422 if isinstance(found, InputError) else 500, without_folders(str(found)), headers)
        if not self.desk.has(key):
            return self._busy(_STOPPING)
        return self.web.json_response({"id": key, "state": "waiting"}, status=202, headers=headers)

    def _busy(self, why: str) -> Any:
        return self._error(503, why, {"Retry-After": str(_RETRY)})

    def _error(self, status: int, why: str, headers: dict[str, str] | None = None) -> Any:
        return self.web.json_response({"error": why}, status=status, headers=headers)


def without_folders(text: str) -> str:
    """Return a text in which files have no folders: where this machine keeps them is nothing for clients."""
    return _FOLDERS.sub("", text)


def _seconds(text: str) -> float:
    try:
        value = float(text or 0)
    except ValueError:
        return 0.0
    return min(max(value, 0.0), _LONGEST_WAIT) if math.isfinite(value) else 0.0
