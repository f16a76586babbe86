"""Build a page as one file that contains its style and script, and may load nothing from a network."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from opbridge.analysis.report.markup import Child, Markup, element

MOST_BYTES = 2_000_000
_HERE = Path(__file__).parent


def document(title: str, version: str, header: Child, navigation: Child, main: Child) -> str:
    """Return the HTML text, with a policy that forbids everything but its own style and script."""
    style, script = ((_HERE / name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    policy = f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(style)),
    )
    body = element(
        "body",
        element("a", "Skip to the content", href="#main", class_="skip"),
        header,
        navigation,
        element("main", main, id="main", tabindex="-1"),
        element("footer", element("p", f"Made by opbridge {version}.")),
        element("script", Markup(script)),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
