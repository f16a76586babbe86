"""The rules of an operator (`out`, `derivatives`, `backward`, `batch`, `shard`, `flops`, `launch`).

Each is parsed once and run by every framework; docs/rules.md describes the language.
"""

from __future__ import annotations

from opbridge.waist.rules.arrays import ARRAY_FUNCTIONS, ArrayFunction, ArrayParameter
from opbridge.waist.rules.derivatives import Backward, Derivative
from opbridge.waist.rules.dimensions import Batch, Dimensions
from opbridge.waist.rules.dtypes import DTYPE_CODES, DTYPES, promote
from opbridge.waist.rules.evaluation import evaluate
from opbridge.waist.rules.formulas import Formula, formula_environment
from opbridge.waist.rules.operator_rules import Rules
from opbridge.waist.rules.outputs import (
    FromKernel,
    Like,
    OutRule,
    Program,
    ShapeDtype,
    compile_out,
    evaluate_out,
    evaluate_size,
    parse_out,
)
from opbridge.waist.rules.parser import parse_expression
from opbridge.waist.rules.sharding import Shard, Sharding
from opbridge.waist.rules.syntax import Expr

__all__ = [
    "ARRAY_FUNCTIONS",
    "DTYPES",
    "DTYPE_CODES",
    "ArrayFunction",
    "ArrayParameter",
    "Backward",
    "Batch",
    "Derivative",
    "Dimensions",
    "Expr",
    "Formula",
    "FromKernel",
    "Like",
    "OutRule",
    "Program",
    "Rules",
    "ShapeDtype",
    "Shard",
    "Sharding",
    "compile_out",
    "evaluate",
    "evaluate_out",
    "evaluate_size",
    "formula_environment",
    "parse_expression",
    "parse_out",
    "promote",
]
