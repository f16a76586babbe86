"""docs/errors.md shows the messages that people really get."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import opbridge as ob
from opbridge.base.errors import OpbridgeError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import toolchain_for

torch = pytest.importorskip("torch")

PAGE = (Path(__file__).parents[1] / "docs" / "errors.md").read_text()
SHOWN = re.findall(r"^```text\n(.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL)
SCHEMA = "guide::scale(Tensor x, *, float by=2.0) -> Tensor"
KERNEL = """
#include <opbridge/kernel.h>
template <class T>
void scale(ob::In<T> x, ob::Out<T> out, double by) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = T(by) * x[i];
}
OB_KERNEL(scale, float, double)
"""


def scale(kernel: str = KERNEL, schema: str = SCHEMA, out: str | None = "x", **rules: object) -> ob.Op:
    return ob.inline(kernel, schema=schema, **({"out": out} if out else {}), **rules)


MISTAKES: dict[str, Callable[[], object]] = {
    "unknown type": lambda: scale(schema=SCHEMA.replace("float", "flot")),
    "needs an out rule": lambda: scale(out=None),
    "'bye' is not an argument, gradient": lambda: scale(derivatives={"x": "grad * bye"}),
    "no such file": lambda: ob.load("nothing.yaml"),
    "was not declared": lambda: scale(KERNEL.replace("T(by) *", "T(by) * z +"))(torch.ones(2)),
    "no int32 kernel": lambda: scale()(torch.ones(2, dtype=torch.int32)),
    "Unknown keyword argument": lambda: scale()(torch.ones(2), bye=3),
    "tensors of one framework": lambda: scale()([1.0]),
    "has no kernel for cpu": lambda: scale(device="cuda")(torch.ones(2)),
    "has no derivative": lambda: scale()(torch.ones(2, requires_grad=True)).sum().backward(),
    "has no operator aten": lambda: ob.aten("leaky_rel"),
    "must not be zero": lambda: scale(KERNEL.replace("  for", '  OB_CHECK(by != 0, "by must not be zero");\n  for'))(
        torch.ones(2), by=0.0
    ),
}


@pytest.mark.filterwarnings("ignore:.*defined again with another schema")
@pytest.mark.parametrize("words", MISTAKES)
def test_a_message_is_as_the_page_shows_it(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shown,) = (text for text in SHOWN if words in text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OpbridgeError) as caught:
        MISTAKES[words]()
    assert shown in str(caught.value).replace(f"{tmp_path}/", "")


def test_a_folder_that_others_can_write_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shown,) = (text for text in SHOWN if "has mode 777" in text)
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(OpbridgeError) as caught:
        Cache(folder)
    assert shown in str(caught.value)


def test_a_machine_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shown,) = (text for text in SHOWN if "no C++ compiler" in text)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(OpbridgeError) as caught:
        toolchain_for("c++").find()
    assert shown in str(caught.value)
