"""Chromium without a window, asked through two pipes: what its debugging protocol needs, and no library."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any

_SECONDS = 120.0
"""A browser on a busy machine takes long to start."""


class Browser:
    """One page of a browser, with what its console said."""

    def __init__(self, folder: Path) -> None:
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        self._process = subprocess.Popen(
            [
                # The protocol's ends are 3 and 4, whatever the pipes are here.
                *("bash", "-c", f'exec 3<&{commands} 4>&{answers}; exec "$@"', "browser"),
                *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
                *("--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"),
            ],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._unread = b""
        self._count = 0
        self._session: str | None = None
        self.said: list[str] = []
        """Errors and warnings of the page, and what it asked of a network."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def ask(self, method: str, **parameters: Any) -> Any:
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def open(self, page: Path, fragment: str = "") -> None:
        self.ask("Page.navigate", url=page.as_uri() + fragment)
        self.wait_for("document.readyState === 'complete' && location.protocol === 'file:'")

    def value(self, expression: str) -> Any:
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> None:
        end = time.monotonic() + _SECONDS
        while not self.value(condition):
            assert time.monotonic() < end, f"waited in vain for {condition}"
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """With the mouse, in the middle of what is seen of it."""
        x, y = self.value(
            f"(() => {{const part = document.querySelector({json.dumps(selector)}); part.scrollIntoView();"
            "const box = part.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]})()"
        )
        for event in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=event, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str, code: int, text: str = "") -> None:
        for event in ("keyDown" if text else "rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=event, key=key, code=key, text=text, windowsVirtualKeyCode=code)

    def resize(self, width: int, height: int = 900) -> None:
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def prefer(self, scheme: str, medium: str = "screen") -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=medium, features=features)

    def screenshot(self, file: Path) -> None:
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            assert select.select([self._answers], [], [], _SECONDS)[0], "chromium does not answer"
            read = os.read(self._answers, 1 << 20)
            assert read, "chromium ended"
            self._unread += read
        message, _, self._unread = self._unread.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        self._listen(answer.get("method", ""), answer.get("params", {}))
        return answer

    def _listen(self, event: str, told: dict[str, Any]) -> None:
        if event == "Log.entryAdded":
            self.said.append(told["entry"]["text"])
        elif event == "Runtime.exceptionThrown":
            self.said.append(told["exceptionDetails"]["text"])
        elif event == "Runtime.consoleAPICalled":
            self.said.append(f"console.{told['type']}")
        elif event == "Network.requestWillBeSent" and not told["request"]["url"].startswith("file:"):
            self.said.append(f"asks for {told['request']['url']}")

    def worst_contrast(self) -> float:
        """Of text, of marks and of the names of a chart's lines, to what is behind them."""
        return float(self.value(_WORST_CONTRAST))


_WORST_CONTRAST = """(() => {
          const light = (colour) => {
            const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map(Number).map((value) => {
              const part = value / 255;
              return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const behind = (part) => {
            for (; part; part = part.parentElement) {
              const colour = getComputedStyle(part).backgroundColor;
              if (!colour.endsWith(", 0)") && colour !== "transparent") return light(colour);
            }
          };
          const contrast = (part) => {
            const style = getComputedStyle(part);
            const shown = [light(part.closest("svg") ? style.fill : style.color), behind(part)].sort((a, b) => b - a);
            return (shown[0] + 0.05) / (shown[1] + 0.05);
          };
          const parts = document.querySelectorAll("p, th, td, dt, a, code, figcaption, mark, .sign, svg text, .mark");
          return Math.min(...[...parts].map(contrast));
        })()"""
