"""Add pages to the site that are not in docs/: those at the root of the repository, and references made from code."""

from __future__ import annotations

import posixpath
import re
from html import escape
from pathlib import Path
from typing import Any

import notebooks
import reference
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from opbridge.cli import parser_of
from opbridge.cli.command_table import GROUPS

ROOT = Path(__file__).parents[1]
AT_THE_ROOT = {
    "README.md": "readme.md",
    "README.zh.md": "zh.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "reporting.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
}
_LINK = re.compile(
    r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>(?!https?:|mailto:|#)[^)#\s]+)(?P<anchor>#[^)\s]*)?\)"
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    pages = {page: (ROOT / source).read_text(encoding="utf-8") for source, page in AT_THE_ROOT.items()}
    pages |= {"reference/python.md": reference.page(), "reference/commands.md": _command_reference()}
    pages |= {"notebooks/operators.md": notebooks.page(ROOT / "examples" / "notebook" / "operators.ipynb")}
    for page, text in pages.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Rewrite links of the repository for the site; name the target instead if the site does not contain it."""
    here = page.file.src_uri
    source = next((root for root, at in AT_THE_ROOT.items() if at == here), f"docs/{here}")
    places = dict(AT_THE_ROOT)
    places |= {f"docs/{file.src_uri}": file.src_uri for file in files if file.src_uri not in places.values()}

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found["target"]))
        if target not in places:
            text = found["text"].strip("`")
            return found["text"] if text.count("/") else f"{found['text']} (`{target}`)"
        relative = posixpath.relpath(places[target], posixpath.dirname(here) or ".")
        return f"{found['image']}[{found['text']}]({relative}{found['anchor'] or ''})"

    if here.startswith(("notebooks/", "reference/")):
        return markdown
    # Only text: fences contain programs.
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts)


def on_post_page(output: str, page: Any, config: MkDocsConfig) -> str:
    """Return the page with its language, which the theme sets for the whole site, and with its social card."""
    if page.file.src_uri == "zh.md" or page.file.src_uri.endswith(".zh.md"):
        output = output.replace('<html lang="en"', '<html lang="zh"', 1)
    return output.replace("</head>", f"{_card(page, config)}</head>", 1)


def _card(page: Any, config: MkDocsConfig) -> str:
    to_root = posixpath.relpath(".", posixpath.dirname(page.url) or ".")
    fields = {
        "og:type": "website",
        "og:title": f"{page.title} - {config.site_name}",
        "og:description": config.site_description,
        "og:image": f"{config.site_url or to_root + '/'}pictures/card.png",
    }
    tags = [f'<meta property="{name}" content="{escape(value or "")}">' for name, value in fields.items()]
    return "".join([*tags, '<meta name="twitter:card" content="summary_large_image">'])


def _command_reference() -> str:
    parts = ["# Command line\n", "The `--help` of every command.\n"]
    for title, commands in GROUPS.items():
        parts.append(f"## {title}\n")
        for name, command in commands.items():
            parts += [f"### opbridge {name}\n", f"{command.purpose[0].upper()}{command.purpose[1:]}.\n"]
            parts += ["```text", parser_of(name).format_help(), "```\n"]
    return "\n".join(parts)
