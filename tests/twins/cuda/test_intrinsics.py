"""Every intrinsic against a reference.

One table of expressions makes one CUDA source, which nvcc takes too.  Arithmetic that says how it rounds is held
against exact fractions, functions against NumPy, Python and PyTorch.  Half a minute with the build, then 20 seconds.
"""

from __future__ import annotations

import ctypes
import math
import operator
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from gpu_memory import call_on_gpu
from tests.twins.cuda.conftest import LANGUAGE, ON_GPU

from opbridge.build.toolchains import BuildRequest, build

Array = np.ndarray[Any, np.dtype[Any]]

TYPES = {
    "int": np.dtype(np.int32),
    "unsigned": np.dtype(np.uint32),
    "long long": np.dtype(np.int64),
    "unsigned long long": np.dtype(np.uint64),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
    "__half": np.dtype(np.float16),
    "__nv_bfloat16": np.dtype(ml_dtypes.bfloat16),
}


# Exact arithmetic -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Format:
    digits: int
    least: int
    """The exponent of the smallest number."""
    most: int
    """The exponent of the first power of two that is too large."""

    def round(self, value: Fraction, mode: str) -> float:
        """To nearest (n), to zero (z), up (u) or down (d)."""
        if value == 0:
            return 0.0
        leading = value.numerator.bit_length() - value.denominator.bit_length()
        leading -= Fraction(2) ** leading > abs(value)
        unit = Fraction(2) ** max(leading - self.digits + 1, self.least)
        below = value // unit * unit
        rest = value - below
        if mode == "n":
            upwards = rest * 2 > unit or (rest * 2 == unit and below / unit % 2 == 1)
        else:
            upwards = rest > 0 and (mode == "u" or (mode == "z" and value < 0))
        result = below + unit if upwards else below
        if abs(result) < 2**self.most:
            return float(result)
        largest = float(2**self.most - Fraction(2) ** (self.most - self.digits))
        beyond = mode == "n" or mode == ("u" if value > 0 else "d")
        return math.copysign(math.inf if beyond else largest, 1 if value > 0 else -1)


FORMATS = {
    "__half": Format(11, -24, 16),
    "__nv_bfloat16": Format(8, -133, 128),
    "float": Format(24, -149, 128),
    "double": Format(53, -1074, 1024),
}


def exactly(function: Callable[..., Any], kind: str, mode: str = "n") -> Callable[..., Array]:
    """The function's value rounded once; where there is no exact value, what NumPy makes of it."""

    def reference(*columns: Array) -> Array:
        with np.errstate(all="ignore"):
            plain = function(*(column.astype(np.float64) for column in columns))
        out = np.array(plain, np.float64)
        for i, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            # Types that Python does not know come as themselves.
            numbers = [number if isinstance(number, int) else float(number) for number in row]
            if not all(map(math.isfinite, numbers)):
                continue
            try:
                out[i] = FORMATS[kind].round(function(*map(Fraction, numbers)), mode)
            except ZeroDivisionError:
                continue
        with np.errstate(over="ignore", invalid="ignore"):
            return out.astype(TYPES[kind])

    return reference


def square_root(kind: str, mode: str) -> Callable[[Array], Array]:
    def of(value: float) -> float:
        if not (value > 0 and math.isfinite(value)):
            return math.nan if value < 0 else value
        scale = 2**1200
        root = math.isqrt(int(Fraction(value) * scale * scale))
        inexact = Fraction(root) ** 2 != Fraction(value) * scale * scale
        # One digit more, which says that the rest was cut off.
        return FORMATS[kind].round(Fraction(2 * root + inexact, 2 * scale), mode)

    return lambda column: np.array([of(float(value)) for value in column]).astype(TYPES[kind])


def to_integer(source: str, kind: str, mode: str) -> Callable[[Array], Array]:
    info = np.iinfo(TYPES[kind])
    how = {"n": round, "z": math.trunc, "u": math.ceil, "d": math.floor}[mode]

    def of(value: float) -> int:
        if math.isnan(value):
            highest = 0 if info.bits == 32 and source != "double" else 2 ** (info.bits - 1)
            return -highest if info.min else highest
        if math.isinf(value):
            return int(info.max if value > 0 else info.min)
        return min(max(how(value), int(info.min)), int(info.max))

    return lambda column: np.array([of(float(value)) for value in column], TYPES[kind])


def samples(kind: str, count: int = 400) -> Array:
    """Numbers of all magnitudes, and the special ones."""
    dtype = TYPES[kind]
    rng = np.random.default_rng(list(TYPES).index(kind))
    bits = np.dtype(f"u{dtype.itemsize}")
    anything = rng.integers(0, np.iinfo(bits).max, count, bits, endpoint=True).view(dtype)
    if dtype.kind in "iu":
        small = rng.integers(0, 200, count).astype(dtype)
        return np.concatenate([anything, small, np.array([0, 1, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)])
    form = FORMATS[kind]
    near = (rng.standard_normal(count) * 8).astype(dtype)
    halves = (rng.integers(-20, 20, count) / 2).astype(dtype)
    special = [
        0.0,
        -0.0,
        math.inf,
        -math.inf,
        math.nan,
        2.0**form.least,
        -(2.0**form.least),
        form.round(Fraction(2) ** 2000, "z"),
    ]
    return np.concatenate([anything, near, halves, np.array(special).astype(dtype)])


def widened(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda column: function(column.astype(np.float64))


# The table ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    expression: str
    """Of a, b and c."""
    inputs: tuple[str, ...]
    output: str
    reference: Callable[..., Any]
    tolerance: float = 0.0
    """Relative; 0 where the answer is exact."""
    within: tuple[float, float] | None = None
    """Where the function is asked."""


CASES: list[Case] = []


def case(expression: str, inputs: str, output: str, reference: Callable[..., Any], tolerance: float = 0.0,
         within: tuple[float, float] | None = None) -> None:  # fmt: skip
    CASES.append(Case(expression, tuple(inputs.split(", ")), output, reference, tolerance, within))


def fused(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


MODES = {"rn": "n", "rz": "z", "ru": "u", "rd": "d"}
for suffix, mode in MODES.items():
    for kind, letter in (("float", "f"), ("double", "d")):
        pair, fma = f"{kind}, {kind}", "__fmaf" if kind == "float" else "__fma"
        for name, function in (
            ("add", operator.add),
            ("sub", operator.sub),
            ("mul", operator.mul),
            ("div", operator.truediv),
        ):
            case(f"__{letter}{name}_{suffix}(a, b)", pair, kind, exactly(function, kind, mode))
        case(f"{fma}_{suffix}(a, b, c)", f"{pair}, {kind}", kind, exactly(fused, kind, mode))
        case(f"__{letter}rcp_{suffix}(a)", kind, kind, exactly(lambda a: 1 / a, kind, mode))
        case(f"__{letter}sqrt_{suffix}(a)", kind, kind, square_root(kind, mode))
        for name, integer in (("int", "int"), ("uint", "unsigned"), ("ll", "long long"), ("ull", "unsigned long long")):
            case(f"__{kind}2{name}_{suffix}(a)", kind, integer, to_integer(kind, integer, mode))
            if kind == "float" or "ll" in name:
                case(f"__{name}2{kind}_{suffix}(a)", integer, kind, exactly(operator.pos, kind, mode))
    case(f"__double2float_{suffix}(a)", "double", "float", exactly(operator.pos, "float", mode))
    for kind, word in (("__half", "half"), ("__nv_bfloat16", "bfloat16")):
        case(f"__float2{word}_{suffix}(a)", "float", kind, exactly(operator.pos, kind, mode))
        for name, integer in (("int", "int"), ("uint", "unsigned"), ("ll", "long long"), ("ull", "unsigned long long")):
            case(f"__{word}2{name}_{suffix}(a)", kind, integer, to_integer(kind, integer, mode))
        case(f"__int2{word}_{suffix}(a)", "int", kind, exactly(operator.pos, kind, mode))
        case(f"__uint2{word}_{suffix}(a)", "unsigned", kind, exactly(operator.pos, kind, mode))

for kind, word in (("__half", "half"), ("__nv_bfloat16", "bfloat16")):
    pair = f"{kind}, {kind}"
    for sign, name, function in (
        ("+", "add", operator.add),
        ("-", "sub", operator.sub),
        ("*", "mul", operator.mul),
        ("/", "div", operator.truediv),
    ):
        case(f"a {sign} b", pair, kind, exactly(function, kind))
        case(f"__h{name}(a, b)", pair, kind, exactly(function, kind))
    case("__hfma(a, b, c)", f"{pair}, {kind}", kind, exactly(fused, kind))
    case(f"__double2{word}(a)", "double", kind, exactly(operator.pos, kind))
    case(f"__{word}2float(a)", kind, "float", lambda a: a.astype(np.float32))
    case("hsqrt(a)", kind, kind, square_root(kind, "n"))
    case("hrcp(a)", kind, kind, exactly(lambda a: 1 / a, kind), 0.004)
    case("__hneg(a)", kind, kind, np.negative)
    case("__habs(a)", kind, kind, np.abs)
    case("__hmax(a, b)", pair, kind, np.fmax)
    case("__hmin(a, b)", pair, kind, np.fmin)
    case("__hmax_nan(a, b)", pair, kind, np.maximum)
    case("__hmin_nan(a, b)", pair, kind, np.minimum)
    case("__hisnan(a)", kind, "int", np.isnan)
    case("__hlt(a, b)", pair, "int", operator.lt)
    case("__hne(a, b)", pair, "int", lambda a, b: (a < b) | (a > b))
    case("__hgeu(a, b)", pair, "int", lambda a, b: (a >= b) | (a != a) | (b != b))
    pairs = f"__halves2{word}2(a, b), __halves2{word}2(b, b)"
    case(f"__heq2_mask({pairs})", pair, "unsigned", lambda a, b: (a == b) * 0xFFFF + (b == b) * np.uint32(0xFFFF0000))
    for name in ("exp", "exp2", "log", "log2", "log10", "sin", "cos", "ceil", "floor", "trunc", "rint"):
        case(f"h{name}(a)", kind, kind, widened(getattr(np, name)), 0.008, (0.25, 8))

# Functions: of floats, and by their own name of doubles.
special = torch.special


def of_torch(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Array], Array]:
    return lambda a: function(torch.from_numpy(a.astype(np.float64))).numpy()


def of_python(function: Callable[[float], float]) -> Callable[[Array], Array]:
    return lambda a: np.array([function(float(value)) for value in a])


def normal_cdf(a: Array) -> Array:
    return np.array([0.5 * math.erfc(-float(value) / math.sqrt(2)) for value in a])


FUNCTIONS: dict[str, tuple[Callable[..., Any], float, float]] = {
    "rsqrt": (lambda a: 1 / np.sqrt(a), 1e-6, 1e6),
    "rcbrt": (lambda a: 1 / np.cbrt(a), 1e-6, 1e6),
    "exp10": (lambda a: 10.0**a, -20, 20),
    "sinpi": (lambda a: np.sin(np.pi * (a % 2.0)), 0.1, 0.9),
    "cospi": (lambda a: np.cos(np.pi * (a % 2.0)), -0.4, 0.4),
    "erfinv": (of_torch(special.erfinv), -0.999, 0.999),
    "erfcinv": (lambda a: of_torch(special.erfinv)(1 - a), 0.1, 1.9),
    "erfcx": (of_torch(special.erfcx), -3, 200),
    "normcdf": (normal_cdf, -8, 8),
    "normcdfinv": (of_torch(special.ndtri), 1e-6, 0.999),
    "cyl_bessel_i0": (of_torch(special.i0), -60, 60),
    "cyl_bessel_i1": (of_torch(special.i1), 0.01, 60),
    "lgamma": (of_python(math.lgamma), 3, 100),
    "j0": (of_torch(special.bessel_j0), 0, 2),
}
for name, (function, low, high) in FUNCTIONS.items():
    case(f"{name}f(a)", "float", "float", widened(function), 4e-6, (low, high))
    case(f"{name}(a)", "double", "double", function, 1e-11, (low, high))
for name in ("exp", "log", "log2", "log10", "sin", "cos", "tan"):
    case(f"__{name}f(a)", "float", "float", widened(getattr(np, name)), 1e-5, (0.1, 1.2))
case("__powf(a, b)", "float, float", "float", lambda a, b: np.float64(a) ** np.float64(b), 1e-5, (0.1, 5))
case("__fdividef(a, b)", "float, float", "float", operator.truediv, 1e-6, (0.1, 5))
case("__saturatef(a)", "float", "float", lambda a: np.nan_to_num(np.clip(a, 0, 1), nan=0))
case("__frsqrt_rn(a)", "float", "float", lambda a: 1 / np.sqrt(a.astype(np.float64)), 1e-7, (1e-6, 1e6))
case("sinpi(a)", "double", "double", lambda a: np.zeros_like(a) * a, 0, (5, 5))
case("rhypot(a, b)", "double, double", "double", lambda a, b: 1 / np.hypot(a, b), 1e-14, (-9, 9))
case(
    "norm3df(a, b, c)",
    "float, float, float",
    "float",
    lambda *v: np.sqrt(sum(np.float64(x) ** 2 for x in v)),
    1e-6,
    (-9, 9),
)
case(
    "rnorm4d(a, b, c, a)",
    "double, double, double",
    "double",
    lambda a, b, c: 1 / np.sqrt(2 * a**2 + b**2 + c**2),
    1e-14,
    (-9, 9),
)
case("min(a, b)", "float, float", "float", np.fmin)
case("max(a, b)", "double, double", "double", np.fmax)
case("max(a, b)", "int, int", "int", np.maximum)
case("umin(a, b)", "unsigned, unsigned", "unsigned", np.minimum)
case("llmax(a, b)", "long long, long long", "long long", np.maximum)
case("min(a, b)", "unsigned long long, unsigned long long", "unsigned long long", np.minimum)
case("max(a, 7u)", "int", "unsigned", lambda a: np.maximum(a.view(np.uint32), 7))

# Bits and integers.
INT, UNSIGNED = "int", "unsigned"
MASK = 0xFFFFFFFF


def each(function: Callable[..., int], output: str = UNSIGNED) -> Callable[..., Array]:
    """A function of Python's integers, whose result is cut to the width of the output."""
    dtype = TYPES[output]

    def reference(*columns: Array) -> Array:
        values = [function(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
        return np.array([value & (2 ** (8 * dtype.itemsize) - 1) for value in values], f"u{dtype.itemsize}").view(dtype)

    return reference


def byte_perm(x: int, y: int, selector: int) -> int:
    data = (y << 32 | x).to_bytes(8, "little")
    return int.from_bytes(bytes(data[selector >> 4 * i & 7] for i in range(4)), "little")


def parts(value: int, width: int, signed: bool) -> list[int]:
    data = (value & MASK).to_bytes(4, "little")
    return [int.from_bytes(data[i : i + width], "little", signed=signed) for i in range(0, 4, width)]


def dot(width: int, signed: bool) -> Callable[[int, int, int], int]:
    return lambda a, b, c: c + sum(map(operator.mul, parts(a, width, signed), parts(b, 1, signed)))


def reversed_bits(value: int, width: int) -> int:
    return int(f"{value:0{width}b}"[::-1], 2)


case("__popc(a)", UNSIGNED, INT, each(int.bit_count, INT))
case("__popcll(a)", "unsigned long long", INT, each(int.bit_count, INT))
case("__clz(a)", INT, INT, each(lambda a: 32 - (a & MASK).bit_length(), INT))
case("__clzll(a)", "long long", INT, each(lambda a: 64 - (a & 2**64 - 1).bit_length(), INT))
case("__ffs(a)", INT, INT, each(lambda a: (a & -a).bit_length(), INT))
case("__ffsll(a)", "long long", INT, each(lambda a: (a & -a).bit_length(), INT))
case("__brev(a)", UNSIGNED, UNSIGNED, each(lambda a: reversed_bits(a, 32)))
case(
    "__brevll(a)",
    "unsigned long long",
    "unsigned long long",
    each(lambda a: reversed_bits(a, 64), "unsigned long long"),
)
case("__byte_perm(a, b, c)", "unsigned, unsigned, unsigned", UNSIGNED, each(byte_perm))
case(
    "__funnelshift_l(a, b, c)",
    "unsigned, unsigned, unsigned",
    UNSIGNED,
    each(lambda a, b, c: (b << 32 | a) << (c & 31) >> 32),
)
case(
    "__funnelshift_r(a, b, c)",
    "unsigned, unsigned, unsigned",
    UNSIGNED,
    each(lambda a, b, c: (b << 32 | a) >> (c & 31)),
)
case(
    "__funnelshift_lc(a, b, c)",
    "unsigned, unsigned, unsigned",
    UNSIGNED,
    each(lambda a, b, c: (b << 32 | a) << min(c, 32) >> 32),
)
case(
    "__funnelshift_rc(a, b, c)",
    "unsigned, unsigned, unsigned",
    UNSIGNED,
    each(lambda a, b, c: (b << 32 | a) >> min(c, 32)),
)
case("__mulhi(a, b)", "int, int", INT, each(lambda a, b: a * b >> 32, INT))
case("__umulhi(a, b)", "unsigned, unsigned", UNSIGNED, each(lambda a, b: a * b >> 32))
case("__mul64hi(a, b)", "long long, long long", "long long", each(lambda a, b: a * b >> 64, "long long"))
case(
    "__umul64hi(a, b)",
    "unsigned long long, unsigned long long",
    "unsigned long long",
    each(lambda a, b: a * b >> 64, "unsigned long long"),
)
case("__mul24(a, b)", "int, int", INT, each(lambda a, b: signed24(a) * signed24(b), INT))
case("__umul24(a, b)", "unsigned, unsigned", UNSIGNED, each(lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)))
case("__sad(a, b, c)", "int, int, unsigned", UNSIGNED, each(lambda a, b, c: abs(a - b) + c))
case("__usad(a, b, c)", "unsigned, unsigned, unsigned", UNSIGNED, each(lambda a, b, c: abs(a - b) + c))
case("__hadd(a, b)", "int, int", INT, each(lambda a, b: (a + b) >> 1, INT))
case("__rhadd(a, b)", "int, int", INT, each(lambda a, b: (a + b + 1) >> 1, INT))
case("__uhadd(a, b)", "unsigned, unsigned", UNSIGNED, each(lambda a, b: (a + b) >> 1))
case("__urhadd(a, b)", "unsigned, unsigned", UNSIGNED, each(lambda a, b: (a + b + 1) >> 1))
case("__dp4a(a, b, c)", "int, int, int", INT, each(dot(1, True), INT))
case("__dp4a(a, b, c)", "unsigned, unsigned, unsigned", UNSIGNED, each(dot(1, False)))


def lanes(signed: bool, width: int, result: Callable[[int, int], int]) -> Callable[[int, int], int]:
    """Of each lane by itself, cut back to its width."""

    def of_words(a: int, b: int) -> int:
        pairs = zip(parts(a, width, signed), parts(b, width, signed), strict=True)
        return sum((result(x, y) & 2 ** (8 * width) - 1) << 8 * width * i for i, (x, y) in enumerate(pairs))

    return of_words


def saturating(signed: bool, width: int, result: Callable[[int, int], int]) -> Callable[[int, int], int]:
    least, most = (-(2 ** (8 * width - 1)), 2 ** (8 * width - 1) - 1) if signed else (0, 2 ** (8 * width) - 1)
    return lambda x, y: min(max(result(x, y), least), most)


def differences(signed: bool, width: int) -> Callable[[int, int], int]:
    return lambda a, b: sum(map(abs, map(operator.sub, parts(a, width, signed), parts(b, width, signed))))


COMPARISONS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
PACKED: dict[str, tuple[bool, Callable[[int, int], int]]] = {
    "add": (True, operator.add),
    "sub": (True, operator.sub),
    "absdiffs": (True, lambda x, y: abs(x - y)),
    "absdiffu": (False, lambda x, y: abs(x - y)),
    "avgs": (True, lambda x, y: (x + y + (x + y >= 0)) >> 1),
    "avgu": (False, lambda x, y: (x + y + 1) >> 1),
    "haddu": (False, lambda x, y: (x + y) >> 1),
    "maxs": (True, max),
    "maxu": (False, max),
    "mins": (True, min),
    "minu": (False, min),
    "cmpeq": (False, lambda x, y: -(x == y)),
    "setne": (False, operator.ne),
    **{f"cmp{name}s": (True, lambda x, y, holds=holds: -holds(x, y)) for name, holds in COMPARISONS.items()},
    **{f"set{name}u": (False, holds) for name, holds in COMPARISONS.items()},
}
for count, width in ((2, 2), (4, 1)):
    for name, (signed, result) in PACKED.items():
        case(f"__v{name}{count}(a, b)", "unsigned, unsigned", UNSIGNED, each(lanes(signed, width, result)))
    for name, signed, result in (
        ("addss", True, operator.add),
        ("addus", False, operator.add),
        ("subss", True, operator.sub),
        ("subus", False, operator.sub),
    ):
        kept = saturating(signed, width, result)
        case(f"__v{name}{count}(a, b)", "unsigned, unsigned", UNSIGNED, each(lanes(signed, width, kept)))
    for name, of_one in (("neg", operator.neg), ("abs", abs)):
        plain = lanes(True, width, partial(lambda f, x, _: f(x), of_one))
        kept = lanes(True, width, saturating(True, width, partial(lambda f, x, _: f(x), of_one)))
        case(f"__v{name}{count}(a)", UNSIGNED, UNSIGNED, each(partial(plain, b=0)))
        case(f"__v{name}ss{count}(a)", UNSIGNED, UNSIGNED, each(partial(kept, b=0)))
    case(f"__vsads{count}(a, b)", "unsigned, unsigned", UNSIGNED, each(differences(True, width)))
    case(f"__vsadu{count}(a, b)", "unsigned, unsigned", UNSIGNED, each(differences(False, width)))
case("__float_as_int(a)", "float", INT, lambda a: a.view(np.int32))
case("__uint_as_float(a)", UNSIGNED, "float", lambda a: a.view(np.float32))
case("__double_as_longlong(a)", "double", "long long", lambda a: a.view(np.int64))
case("__longlong_as_double(a)", "long long", "double", lambda a: a.view(np.float64))
case(
    "__hiloint2double(a, b)",
    "int, int",
    "double",
    lambda a, b: (a.astype(np.uint32).astype(np.uint64) << np.uint64(32) | b.astype(np.uint32)).view(np.float64),
)
case("__double2hiint(a)", "double", INT, lambda a: (a.view(np.int64) >> 32).astype(np.int32))
case("__double2loint(a)", "double", INT, lambda a: a.view(np.int64).astype(np.int32))


def signed24(value: int) -> int:
    return (value + 2**23) % 2**24 - 2**23


# Running it -----------------------------------------------------------------------------------------------------------


def signatures(cases: Sequence[Case]) -> list[tuple[tuple[str, ...], str]]:
    return sorted({(one.inputs, one.output) for one in cases})


def source(cases: Sequence[Case]) -> str:
    """A kernel for each signature, with a branch for each of its cases."""
    lines = ["#include <cuda_bf16.h>", "#include <cuda_fp16.h>"]
    for number, signature in enumerate(signatures(cases)):
        inputs, output = signature
        parameters = ", ".join(f"const {kind}* {name}s" for kind, name in zip(inputs, "abc", strict=False))
        names = ", ".join(f"{name}s" for name, _ in zip("abc", inputs, strict=False))
        loads = " ".join(f"const {kind} {name} = {name}s[i];" for kind, name in zip(inputs, "abc", strict=False))
        branches = "\n".join(
            f"    case {i}: out[i] = {one.expression}; break;"
            for i, one in enumerate(cases)
            if (one.inputs, one.output) == signature
        )
        lines += [
            f"__global__ void kernel{number}(int which, int n, {output}* out, {parameters}) {{",
            "  const int i = blockIdx.x * blockDim.x + threadIdx.x;",
            f"  if (i >= n) return;\n  {loads}",
            f"  switch (which) {{\n{branches}\n  }}\n}}",
            f'extern "C" void run{number}(int which, int n, {output}* out, {parameters}) {{',
            f"  kernel{number}<<<(n + 127) / 128, 128>>>(which, n, out, {names});\n}}",
        ]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def intrinsics(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    file = tmp_path_factory.mktemp("intrinsics") / "intrinsics.cu"
    file.write_text(source(CASES))
    return ctypes.CDLL(str(build(BuildRequest((file,), "intrinsics.so", language=LANGUAGE)).path))


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH")
def test_nvcc_knows_every_one_of_them(tmp_path: Path) -> None:
    (tmp_path / "intrinsics.cu").write_text(source(CASES))
    command = ["nvcc", "-std=c++17", "-arch=sm_90", "-c", "intrinsics.cu", "-o", os.devnull]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def arguments(one: Case) -> list[Array]:
    columns = []
    for position, kind in enumerate(one.inputs):
        if one.within:
            rng = np.random.default_rng(position)
            column = rng.uniform(*one.within, 500).astype(TYPES[kind])
        else:
            column = samples(kind)
            # Every pair of special numbers meets, because the columns are turned against each other.
            column = np.concatenate([np.roll(column, shift * 7 * position) for shift in range(1, 3)])
        columns.append(column)
    length = min(map(len, columns))
    return [np.ascontiguousarray(column[:length]) for column in columns]


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{c.expression} of {c.inputs[0]}" for c in CASES])
def test_an_intrinsic(intrinsics: ctypes.CDLL, number: int) -> None:
    one = CASES[number]
    columns = arguments(one)
    out = np.zeros(len(columns[0]), TYPES[one.output])
    function = getattr(intrinsics, f"run{signatures(CASES).index((one.inputs, one.output))}")
    if ON_GPU:
        call_on_gpu(function, number, len(out), out, *columns)
    else:
        function(number, len(out), *(array.ctypes.data_as(ctypes.c_void_p) for array in (out, *columns)))
    with np.errstate(all="ignore"):
        expected = np.asarray(one.reference(*columns)).astype(out.dtype)
        # NumPy compares its own types only as it should.
        got, wanted = (array.astype(np.float64) if array.dtype.kind not in "iu" else array for array in (out, expected))
    places = f"at {[column[got != wanted][:4].tolist() for column in columns]}"
    if one.tolerance:
        np.testing.assert_allclose(got, wanted, rtol=one.tolerance, atol=one.tolerance / 100, err_msg=places)
    else:
        np.testing.assert_array_equal(got, wanted, err_msg=places)
