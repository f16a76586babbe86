"""What the site has beside docs/: the pages at the repository's root, and the references, made from the code itself."""

from __future__ import annotations

import inspect
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import opbridge
import opbridge.bench
import opbridge.check
import opbridge.errors
from opbridge.cli import parser_of
from opbridge.cli.command_table import GROUPS
from opbridge.frameworks import FRAMEWORKS
from opbridge.waist.rules.operator_rules import RuleFields

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
    pages |= {"reference/python.md": _python_reference(), "reference/commands.md": _command_reference()}
    for page, text in pages.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Links as the repository has them become the site's; what the site has not got is named instead of linked."""
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

    if here.startswith("reference/"):
        return markdown
    # Text alone: what stands in a fence is a program.
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts)


def on_post_page(output: str, page: Any, config: MkDocsConfig) -> str:
    """Return the page with its language, which the theme sets for the whole site."""
    if page.file.src_uri == "zh.md" or page.file.src_uri.endswith(".zh.md"):
        return output.replace('<html lang="en"', '<html lang="zh"', 1)
    return output


def _command_reference() -> str:
    parts = ["# Command line\n", "The `--help` of every command.\n"]
    for title, commands in GROUPS.items():
        parts.append(f"## {title}\n")
        for name, command in commands.items():
            parts += [f"### opbridge {name}\n", f"{command.purpose[0].upper()}{command.purpose[1:]}.\n"]
            parts += ["```text", parser_of(name).format_help(), "```\n"]
    return "\n".join(parts)


def _python_reference() -> str:
    parts = ["# Python\n", "Everything a program names, as its docstring has it.\n", "## opbridge\n"]
    parts += _members("ob", opbridge, opbridge.__all__)
    parts += ["## opbridge.check\n", *_members("opbridge.check", opbridge.check, opbridge.check.__all__)]
    parts += ["## opbridge.bench\n", *_members("opbridge.bench", opbridge.bench, opbridge.bench.__all__)]
    errors = [name for name, item in vars(opbridge.errors).items() if inspect.isclass(item) and name.endswith("Error")]
    parts += ["## opbridge.errors\n", "[Errors](../errors.md) has their causes and cures.\n"]
    parts += _members("opbridge.errors", opbridge.errors, errors)
    return "\n".join(parts)


def _members(prefix: str, module: Any, names: list[str]) -> Iterator[str]:
    for name in names:
        item = getattr(module, name)
        if not callable(item):
            continue
        yield f"### {prefix}.{name}\n"
        yield f"```python\n{_signature(name, item)}\n```\n"
        yield f"{inspect.getdoc(item) or ''}\n"
        if inspect.isclass(item):
            yield from _methods(item)
        if item is opbridge.Op:
            yield from (f"- `{row.name}`: {row.view}" for row in FRAMEWORKS.values())
            yield ""


def _methods(item: type) -> Iterator[str]:
    for name, member in vars(item).items():
        text = inspect.getdoc(member)
        if name.startswith("_") or not text or not (callable(member) or isinstance(member, property)):
            continue
        shown = name if isinstance(member, property) else _signature(name, member)
        yield f"- `{' '.join(shown.split())}`: {' '.join(text.split())}"
    yield ""


def _signature(name: str, item: Any) -> str:
    try:
        signature = inspect.signature(item)
    except (TypeError, ValueError):
        return name
    flat = f"{name}{signature}".replace("'", "")
    if len(flat) < 100 and "Unpack" not in flat:
        return flat
    result = signature.return_annotation
    end = "" if result is inspect.Signature.empty else f" -> {result}"
    lines, starred = [], False
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD) and not starred:
            starred = True
            lines.append("    *,")
        if parameter.annotation == f"Unpack[{RuleFields.__name__}]":
            rules = RuleFields.__annotations__.items()
            lines += [f"    {key}: {kind.__forward_arg__} = ...," for key, kind in rules]
        else:
            lines.append(f"    {parameter},".replace("'", ""))
    return "\n".join([f"{name}(", *lines, f"){end}"])
