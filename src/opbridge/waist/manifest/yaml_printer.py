"""The conversion of plain data to YAML that every YAML reader parses alike: block style, quoted where needed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from opbridge.waist.manifest.field_kinds import plain_value

_PLAIN = re.compile(r"(?![ ])[\w(](?:[^:#\n]|:(?=\S)|(?<! )#)*(?<! )", re.ASCII)
_OTHER_BOOLEANS = {"yes", "no", "on", "off", "y", "n"}


def to_yaml(value: object) -> str:
    """Return the YAML text of a value."""
    return "\n".join(_lines(value)) + "\n"


def _lines(value: object) -> list[str]:
    if isinstance(value, Mapping) and value:
        return [line for key, item in value.items() for line in _entry(f"{_scalar(str(key))}:", item)]
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        return [line for item in value for line in _item(item)]
    return [_scalar(value)]


def _entry(head: str, value: object) -> list[str]:
    lines = _lines(value)
    if isinstance(value, (Mapping, Sequence)) and not isinstance(value, str) and value:
        return [head, *(f"  {line}" for line in lines)]
    return [f"{head} {lines[0]}"]


def _item(value: object) -> list[str]:
    first, *rest = _lines(value)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, (int, Mapping, list, tuple)):
        return {"()": "[]", "[]": "[]", "{}": "{}"}.get(str(value), str(value))
    text = str(value)
    meant_otherwise = not isinstance(plain_value(text), str) or text.lower() in _OTHER_BOOLEANS
    return text if _PLAIN.fullmatch(text) and text.isprintable() and not meant_otherwise else _quoted(text)


def _float(value: float) -> str:
    text = repr(value)
    if text.lstrip("-") in ("inf", "nan"):
        return text.replace("inf", ".inf").replace("nan", ".nan")
    # YAML 1.1 readers parse 1e-05 as a word and 1.0e-05 as a number.
    return text if "." in text else text.replace("e", ".0e")


def _quoted(text: str) -> str:
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08x}"
