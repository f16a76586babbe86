"""The rules of an operator (`out`, `derivatives`, `backward`, `batch`, `shard`, `flops`, `launch`).

Each is parsed once and run by every framework; docs/rules.md describes the language.
"""

from __future__ import annotations

from opbridge.rules.arrays import ARRAY_FUNCTIONS, ArrayFunction, ArrayParameter
from opbridge.rules.derivatives import Backward, Derivative
from opbridge.rules.dimensions import Batch, Dimensions
from opbridge.rules.dtypes import DTYPE_CODES, DTYPES, promote
from opbridge.rules.evaluation import evaluate
from opbridge.rules.formulas import Formula, formula_environment
from opbridge.rules.model import Rules
from opbridge.rules.outputs import (
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
from opbridge.rules.parser import parse_expression
from opbridge.rules.sharding import Shard, Sharding
from opbridge.rules.syntax import Expr

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
