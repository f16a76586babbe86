"""What the twin lacks does not compile, and says so in a sentence.  Compiles one kernel."""

from __future__ import annotations

import pytest

from opbridge.base.errors import BuildError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, build
from opbridge.build.toolchains.interface import LOG

CASES = {
    "PipeBarrier<PIPE_S>();": "PipeBarrier<PIPE_S>() is a hardware error",
    "LogSoftMax(a, a, a, a, a);": "opbridge's Ascend twin has no LogSoftMax yet",
    "CastDeq(a, b, 16);": "opbridge's Ascend twin has no CastDeq yet",
    "CrossCoreSetFlag<4, PIPE_MTE3>(1);": "has CrossCoreSetFlag in the modes 0, 1 and 2 only",
    "LocalTensor<bfloat16_t> x; Add(x, x, x, 16);": "Add takes elements of half, int16_t, float, int32_t on",
    "LocalTensor<uint32_t> x; Exp(x, x, 16);": "Exp takes elements of half, float on Atlas A2 and A3",
    "LocalTensor<int32_t> x; ReduceSum(x, x, x, 16);": "ReduceSum takes elements of half, float on Atlas A2 and A3",
    "LocalTensor<int32_t> x; x = x / x;": "Div takes elements of half, float on Atlas A2 and A3",
    "LocalTensor<int32_t> x; Tanh(x, x);": "Tanh takes elements of half, float on Atlas A2 and A3",
    "LocalTensor<uint16_t> x; Select(a, x, x, x, SELMODE::VSEL_TENSOR_TENSOR_MODE, 16);": "no matching function",
    "LocalTensor<bfloat16_t> x; Cast(a, x, RoundMode::CAST_NONE, 16);": "Cast takes float(half), int32_t(half),",
    "LocalTensor<int16_t> x; Axpy(a, x, int16_t(1), 16);": "Axpy takes half(half), float(float), float(half), as",
    "TQue<TPosition::GM, 1> queue;": "opbridge's Ascend twin has no local memory at GM",
    "GlobalTensor<int4b_t> x; x.GetValue(1);": "one int4b_t has no address: read the int8_t that holds two",
    "Mmad(b, a, b, MmadParams());": "multiplies half, bfloat16_t and float into float, and int8_t into int32_t",
    "SoftMax<half, false, false, true>(a, a, SoftMaxTiling());": "SoftMax of rows (ND) only",
}


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the compiler says of all of them in one kernel, as it goes on behind a mistake."""
    source = tmp_path_factory.mktemp("refused") / "k.cpp"
    head = '#include "kernel_operator.h"\nusing namespace AscendC;\n__global__ void k(GM_ADDR) {'
    lines = [head, "LocalTensor<half> a; LocalTensor<int32_t> b;", *(f"{{ {code} }}" for code in CASES), "}"]
    source.write_text("\n".join(lines))
    with pytest.raises(BuildError) as caught:
        build(BuildRequest((source,), "k.so", language="ascend-twin"))
    key = str(caught.value).rpartition("opbridge cache log ")[2]
    log = Cache().kept(LOG, key)
    assert log is not None
    return log.read_text()


@pytest.mark.parametrize("code", CASES)
def test_what_is_not_there_is_refused_by_the_compiler(errors: str, code: str) -> None:
    assert CASES[code] in errors
