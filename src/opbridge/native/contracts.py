"""The numbers that Python and C++ share, defined here and in the imported modules, and printed as contracts.h.

`python -m opbridge.native.contracts` rewrites the header; a test fails if the two differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from pathlib import Path

from opbridge.native.aten import Code, Subscript
from opbridge.native.plan import PLAN_MAGIC, PLAN_VERSION, ArgumentFlag, ArgumentKind, BatchMode, ConstantTag
from opbridge.waist.rules.lowering import Comparable, Op, Relation

HEADER = Path(__file__).with_name("contracts.h")


@dataclass(frozen=True)
class Contract:
    """An enumeration that C++ shares."""

    name: str
    """The name of the C++ type."""
    members: type[IntEnum] | type[IntFlag]
    reason: str
    """The purpose of the type, which becomes its C++ comment."""


CONTRACTS = (
    Contract("RuleOp", Op, "What a word of a compiled `out` rule does; rule_vm.h runs it."),
    Contract("Relation", Relation, "How a comparison compares, in rules and in formulas."),
    Contract("Comparable", Comparable, "As what a rule's comparison reads both of its sides."),
    Contract("Code", Code, "What a word of a compiled formula does; torch/formula.h runs it."),
    Contract("Subscript", Subscript, "What stands between the brackets of a formula's index."),
    Contract(
        "Kind", ArgumentKind, "What an argument is to the adapters; `Other` is passed along and never looked into."
    ),
    Contract("ArgFlag", ArgumentFlag, "Properties of an argument in addition to its kind; bits, added up."),
    Contract("ConstantTag", ConstantTag, "What a default is, and with that how its words go on."),
    Contract("Batch", BatchMode, "How an operator meets an extra dimension: a call for each slice, or one over all."),
)

_GUARD = "OPBRIDGE_NATIVE_CONTRACTS_H"


def header() -> str:
    """Return the text of contracts.h."""
    parts = [
        "// The numbers that Python writes and C++ reads.  Printed by contracts.py, which says where each stands.",
        f"#ifndef {_GUARD}\n#define {_GUARD}\n\n#include <cstdint>\n\nnamespace opbridge {{\n",
        f'constexpr int64_t kPlanMagic = {PLAN_MAGIC:#x};  // "OBPLAN1" in memory order',
        f"constexpr int64_t kPlanVersion = {PLAN_VERSION};",
        *map(_enumeration, CONTRACTS),
        "\n}  // namespace opbridge\n\n#endif\n",
    ]
    return "\n".join(parts)


def _enumeration(contract: Contract) -> str:
    flags = issubclass(contract.members, IntFlag)
    head = f"enum {'' if flags else 'class '}{contract.name} : int64_t {{"
    names = (f"{'k' if flags else ''}{_camel(member.name or '')} = {member.value}," for member in contract.members)
    return "\n".join(["", f"// {contract.reason}", head, *(f"  {name}" for name in names), "};"])


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


if __name__ == "__main__":
    HEADER.write_text(header())
