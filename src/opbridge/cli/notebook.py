"""The IPython extension `%load_ext opbridge`: operators from notebook cells, and tables of results."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import yaml

from opbridge.analysis.report.markup import Markup, element
from opbridge.authoring.loading import formula, inline
from opbridge.base.errors import InputError, did_you_mean
from opbridge.waist.op import Op

if TYPE_CHECKING:
    from opbridge.analysis.judge import Judgement
    from opbridge.analysis.profile import KernelCost, Profile

USAGE = '%%opbridge cpp "mylib::cube(Tensor x) -> Tensor" out=x batch=elementwise'

KINDS: Mapping[str, Callable[..., Op]] = {
    "formula": lambda text, schema, **rules: formula(schema, text.strip(), **rules),
    "cpp": lambda text, schema, **rules: inline(text, schema=schema, **rules),
    "cuda": lambda text, schema, device="cuda-twin", **rules: inline(text, schema=schema, device=device, **rules),
    "ascend": lambda text, schema, device="ascend-twin", **rules: inline(text, schema=schema, device=device, **rules),
}
"""The kinds of cells, with the function that creates an operator from each."""


def load_ipython_extension(shell: Any) -> None:
    """Register the `%%opbridge` magic and the tables; `%load_ext opbridge` calls this."""

    def magic(line: str, cell: str) -> Op:
        made = operator(line, cell)
        shell.user_ns[made.schema.name] = made
        return made

    shell.register_magic_function(magic, magic_kind="cell", magic_name="opbridge")
    shown = shell.display_formatter.formatters["text/html"]
    shown.for_type(Op, of_operator)
    shown.for_type_by_name("opbridge.analysis.judge.judgement", "Judgement", of_judgement)
    shown.for_type_by_name("opbridge.analysis.profile.profile_contents", "Profile", of_profile)


def operator(line: str, cell: str) -> Op:
    """Create the operator of a cell.

    Its kind, schema and rules follow `%%opbridge`; its text is below.

    Raises:
        InputError: The kind or the schema is missing, or a rule is malformed.
    """
    kind, schema, *rules = [*shlex.split(line), "", ""]
    if kind not in KINDS or not schema:
        hint = did_you_mean(kind, KINDS) or f"a cell holds one of {', '.join(KINDS)}, as in: {USAGE}"
        raise InputError(f"expected a kind of source and a schema after %%opbridge, got {line!r}", hint=hint)
    return KINDS[kind](cell, schema, **dict(_rule(word) for word in rules if word))


def _rule(word: str) -> tuple[str, object]:
    name, given, value = word.partition("=")
    if not given:
        raise InputError(f"expected rules as NAME=VALUE after the schema, got {word!r}", hint=f"as in: {USAGE}")
    return name, yaml.safe_load(value)


def of_operator(op: Op) -> Markup:
    """Return the table of an operator."""
    said = {"formula": op.spec.formula, **op.rules.fields()}
    devices = ", ".join(kernel.device for kernel in op.spec.kernels)
    return _table(str(op.schema), {**said, "kernels for": devices}.items())


def of_judgement(found: Judgement) -> Markup:
    """Return the table of a verdict and its reasons."""
    reasons = [(reason.check, reason) for reason in found.reasons]
    holds_for = f", for {found.holds_for}" if found.holds_for else ""
    return _table(f"{found.verdict.value}{holds_for}", reasons)


def of_profile(found: Profile) -> Markup:
    """Return the table of predicted costs by kernel."""
    heading = element("caption", f"{found.chip.title}: predicted by counts and published rates, never measured")
    head = element("tr", *(element("th", name) for name in ("kernel", "time", "bound by", "heaviest line", "hint")))
    return element("table", heading, head, [_row_of(kernel) for kernel in found.kernels])


def _row_of(kernel: KernelCost) -> Markup:
    heaviest = kernel.lines[0] if kernel.lines else None
    cells = (
        kernel.name,
        f"{1e6 * kernel.seconds:.3g} µs",
        kernel.bounds[0].name if kernel.bounds else "",
        heaviest.place if heaviest else "",
        heaviest.advice if heaviest else "",
    )
    return element("tr", *(element("td", cell) for cell in cells))


def _table(title: str, rows: Iterable[tuple[str, object]]) -> Markup:
    told = ((name, value) for name, value in rows if value not in (None, "", {}, []))
    lines = [element("tr", element("th", name), element("td", element("pre", str(value)))) for name, value in told]
    return element("table", element("caption", element("code", title)), lines)
