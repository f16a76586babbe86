"""A network of PyTorch's in MindSpore and JAX: values, gradients, training, names, and what cannot be had."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import mindspore as ms
import numpy as np
import pytest
import torch
from forked_python import PYTHON

import opbridge as ob
from opbridge.base.errors import InputError, UnsupportedError
from opbridge.cli import main
from opbridge.models.conversion import weights
from opbridge.models.conversion.cells import load
from opbridge.models.conversion.check_conversion import check
from opbridge.models.conversion.convert_module import Converted, converted, imported
from opbridge.models.conversion.first_difference import first_difference

NETWORK = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.norm(self.conv(x))
        y += x
        return self.act(y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), nn.Identity(), Block())
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.layers[1].weight = self.layers[0].weight
        self.encoder = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
        self.register_buffer("offset", torch.ones(4))

    def forward(self, x):
        x = self.blocks(x)
        for layer in self.layers:
            x = layer(x)
        x = x + torch.arange(4) + self.offset
        with torch.no_grad():
            mean = x.mean()
        return {"encoded": self.encoder(x[:, 0]) * mean, "before": x}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("network")
    (place / "tiny_network.py").write_text(NETWORK)
    sys.path.insert(0, str(place))
    yield place
    sys.path.remove(str(place))


@pytest.fixture(scope="module")
def network(folder: Path) -> Any:
    import tiny_network  # type: ignore[import-not-found]

    torch.manual_seed(0)
    return tiny_network.Net().eval()


@pytest.fixture(scope="module")
def image() -> torch.Tensor:
    return torch.randn(2, 3, 4, 4, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def made(network: Any, image: torch.Tensor) -> Converted:
    return converted(network, (image,))


@pytest.fixture(scope="module")
def package(made: Converted, folder: Path) -> Path:
    made.write(folder / "tiny_ms")
    return folder / "tiny_ms"


def test_values_gradients_and_training_are_pytorchs(network: Any, package: Path, image: torch.Tensor) -> None:
    found = check(network, package, (image,), {})
    assert [each.what for each in found if not each.is_right] == []
    assert all(parameter.grad is None for parameter in network.parameters()), "the module is left as it was"
    assert {"value 0", "value 1", "gradient of layers.0.weight", "layers.0.weight after 3 steps"} <= {
        each.what for each in found
    }


def test_names_and_structure_follow_the_modules(network: Any, package: Path, made: Converted) -> None:
    cell = imported(package).load()
    theirs = {parameter.name for parameter in cell.get_parameters()}
    assert theirs == network.state_dict().keys() - {"layers.1.weight"}
    assert cell.layers[1].weight is cell.layers[0].weight
    assert {parameter.name for parameter in cell.trainable_params()} == {name for name, _ in network.named_parameters()}
    assert made.source.count("class Block(nn.Cell)") == 1
    assert "class Block2" not in made.source


def test_training_moves_the_statistics_as_pytorch_does(network: Any, package: Path, image: torch.Tensor) -> None:
    cell = imported(package).load()
    cell.set_train(True)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    try:
        expected = network.train()(image)["encoded"].detach().numpy()
        np.testing.assert_allclose(cell(ms.Tensor(image.numpy()))[0].asnumpy(), expected, atol=1e-5)
        theirs = {parameter.name: parameter.asnumpy() for parameter in cell.get_parameters()}
        for name, value in network.named_buffers():
            np.testing.assert_allclose(theirs[name], value.numpy(), rtol=1e-5, err_msg=name)
    finally:
        network.load_state_dict(before)
        network.eval()


def test_a_graph_computes_the_same(network: Any, package: Path, image: torch.Tensor) -> None:
    cell = imported(package).load()
    given = ms.Tensor(image.numpy())
    eager = cell(given)[0].asnumpy()
    cell.construct = ms.jit(cell.construct)
    np.testing.assert_allclose(cell(given)[0].asnumpy(), eager, rtol=1e-5, atol=1e-6)


@pytest.mark.cases(1)
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_the_first_operator_that_differs_is_named(network: Any, image: torch.Tensor, to: str, tmp_path: Path) -> None:
    made = converted(network, (image,), to=to, prefer="aten")
    made.write(tmp_path / "net")
    assert first_difference(made, tmp_path / "net", (image,), {}) is None
    stopped = f"{'jax.lax' if to == 'jax' else 'ops'}.stop_gradient"
    for wrong, what in (("aten_conv2d(0.5 * x,", "value"), (f"aten_conv2d({stopped}(x),", "gradient")):
        source = made.source.replace("aten_conv2d(x,", wrong)
        (tmp_path / "net" / "network.py").write_text(source)
        found = first_difference(made, tmp_path / "net", (image,), {})
        assert found is not None
        assert (found.operator, found.module, found.what) == ("aten::conv2d", "blocks.0.conv", what)
        assert re.search(r'tiny_network.py", line \d+, in forward', found.line)
        assert wrong in found.source


def test_values_come_from_every_kind_of_file(network: Any, package: Path, tmp_path: Path) -> None:
    cell = imported(package).network()
    torch.save(network.state_dict(), tmp_path / "net.pt")
    load(cell, tmp_path / "net.pt")
    ms.save_checkpoint(cell, str(tmp_path / "net.ckpt"))
    again = load(imported(package).network(), tmp_path / "net.ckpt")
    np.testing.assert_array_equal(again.offset.asnumpy(), np.ones(4))
    weights.save(tmp_path / "none.safetensors", {"other": np.zeros(2, np.float32)})
    with pytest.raises(InputError, match="is not among the values"):
        load(cell, tmp_path / "none.safetensors")


def test_what_is_saved_reads_back_with_its_type(tmp_path: Path) -> None:
    arrays = {"a": np.arange(6, dtype=np.int64).reshape(2, 3), "b": np.float32([1.5]), "c": np.array(True)}
    weights.save(tmp_path / "x.safetensors", arrays)
    found = weights.load(tmp_path / "x.safetensors")
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_jax_has_a_function_of_a_dict(network: Any, image: torch.Tensor) -> None:
    apply, values = ob.convert(network, (image,), to="jax", prefer="aten")
    expected = network(image)["encoded"]
    result, _ = jax.jit(apply)(values, image.numpy())
    np.testing.assert_allclose(result, expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    expected.sum().backward()
    trained = {name: values[name] for name, _ in network.named_parameters()}
    gradients = jax.grad(lambda given: apply(values | given, image.numpy())[0].sum())(trained)
    for name, parameter in network.named_parameters():
        np.testing.assert_allclose(gradients[name], parameter.grad.numpy(), rtol=1e-3, atol=1e-4, err_msg=name)
    network.zero_grad()
    _, moved = apply(values, image.numpy(), train=True)
    assert moved["blocks.0.norm.num_batches_tracked"] == 1


def test_a_process_leaves_no_network_behind(tmp_path: Path) -> None:
    program = (
        "import torch, opbridge as ob; ob.convert(torch.nn.Linear(2, 2), torch.ones(1, 2), to='jax', prefer='aten')"
    )
    subprocess.run([PYTHON, "-c", program], env={**os.environ, "TMPDIR": str(tmp_path)}, check=True)
    assert list(tmp_path.glob("opbridge-*")) == []


def test_the_batch_may_be_free(image: torch.Tensor) -> None:
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2))
    cell = ob.convert(module, (image,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    assert cell(ms.Tensor(image.numpy()[:1])).shape == (1, 2)


class Normalised(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.norm = torch.nn.LayerNorm(4)
        self.head = torch.nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm(torch.relu(self.conv(x)).mean((2, 3)))
        return self.head(torch.special.i1(x)[:, 1:4])


@pytest.mark.cases(1)
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_operators_are_the_frameworks_where_a_trial_shows_that_they_agree(
    to: str, image: torch.Tensor, tmp_path: Path
) -> None:
    module = Normalised().eval()
    made = converted(module, (image,), to=to, prefer="native")
    assert made.operators == ("aten::special_i1",)
    assert {"aten::conv2d", "aten::layer_norm", "aten::linear", "aten::slice.Tensor"} <= set(made.native)
    made.write(tmp_path / "net")
    found = check(module, tmp_path / "net", (image,), {})
    assert [each for each in found if not each.is_right] == []
    with pytest.raises(UnsupportedError, match=r"aten::special_i1: missing, at Normalised  .*test_conversion.py:\d+"):
        made.require_native()


class Whitened(torch.nn.Module):
    """A norm whose statistics move, and a write to a part of a tensor: operators that no network calls by name."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.conv, self.norm = torch.nn.Conv2d(3, 4, 3, padding="same"), torch.nn.BatchNorm2d(4)
        self.pool = torch.nn.MaxPool2d(3, 2, ceil_mode=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.pool(torch.nn.functional.silu(self.norm(self.conv(x))))
        y[:, :2, 1:] *= 2
        return torch.nn.functional.interpolate(y, scale_factor=2, mode="bilinear").mean((2, 3))


def test_a_whole_network_is_jaxs_own_in_training_too(image: torch.Tensor, tmp_path: Path) -> None:
    module = Whitened().eval()
    made = converted(module, (image,), to="jax", native_only=True)
    assert made.operators == ()
    made.write(tmp_path / "net")
    found = check(module, tmp_path / "net", (image,), {})
    assert "norm.running_var after training" in {each.what for each in found}
    assert [each for each in found if not each.is_right] == []


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(InputError, match=r"a function is not a torch.nn.Module\n  .*MODULE:make\(\)"):
        converted(test_what_is_no_module_is_refused, ())


class WritesToViews(torch.nn.Module):
    """Each kind of view, written to, and read by the tensor and by another view of it."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x * 2
        whole = y.view(-1)
        y[0].add_(1)
        y[:, 1:] = 7.0
        y.t()[1, 2:3].mul_(3)
        y.transpose(0, 1).unsqueeze(0).exp_()
        whole[3] -= 5
        return y, whole


class CopiesIntoViews(torch.nn.Module):
    """Of the same sizes, of fewer, and of another type; the gradient goes to what is copied."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(4.0) + 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, scaled = x * 2, x * self.weight
        y[:, 1:3] = scaled[:, :2]
        y[0] = self.weight.sum()
        y[3, 1:] = torch.arange(3)
        scaled.mul_(2)
        return y + scaled


class Strides(torch.nn.Module):
    """Overlapping windows of a tensor whose axes lie in another order, as longformer's."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = (x * 2).t()
        return y.as_strided((3, 2, 4), (y.stride(1), y.stride(1), y.stride(0))) + x.as_strided((4,), (4,)).sum()


class ActivatesInPlace(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.act = torch.nn.Sequential(torch.nn.ReLU(inplace=True))
        self.drop = torch.nn.Dropout(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        z = self.drop(self.act(y))
        return y + z


class MapsOverRows(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.vmap(lambda row: torch.vmap(lambda a, b: a * b, (0, None))(row, x.sum()))(x) + 1


class SkipsLayers(torch.nn.Module):
    """As speech models do, with a probability that may be zero."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped = 0.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if self.training and torch.rand([]) < self.skipped else x * 2


class CallsTwice(torch.nn.Module):
    """What training writes in the first call, the second one reads; `also` is the same module."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleList([torch.nn.BatchNorm1d(4, momentum=0.5)])
        self.also = self.parts[0]
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.also(self.layer(self.parts[0](x)))


@pytest.mark.cases(1)
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_a_module_that_is_called_twice_has_one_set_of_values(to: str, tmp_path: Path) -> None:
    module, inputs = CallsTwice().eval(), (torch.randn(8, 4, generator=torch.Generator().manual_seed(2)),)
    made = converted(module, inputs, to=to)
    assert made.state.keys() == dict((*module.named_parameters(), *module.named_buffers())).keys()
    made.write(tmp_path / "net")
    found = check(module, tmp_path / "net", inputs, {})
    assert {"parts.0.running_mean after training", "gradient of parts.0.weight in training"} <= {
        each.what for each in found
    }
    assert [each for each in found if not each.is_right] == []


@pytest.mark.cases(2)
@pytest.mark.parametrize("learned", [True, False], ids=["learned", "plain"])
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_a_batch_norm_computes_its_statistics_once(to: str, learned: bool, tmp_path: Path) -> None:
    """One without a weight apart: PyTorch's operator that gives the new ones too has no gradient there."""
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4, affine=learned)).eval()
    inputs = (torch.randn(5, 3, 6, 6, generator=torch.Generator().manual_seed(3)),)
    made = converted(module, inputs, to=to, prefer="aten")
    made.write(tmp_path / "net")
    written = "".join(file.read_text() for file in (tmp_path / "net").rglob("*.py"))
    assert ("batch_norm_with_update" in written, "var_mean" in written) == (learned, not learned)
    found = check(module, tmp_path / "net", inputs, {})
    assert {"1.running_mean after training", "1.running_var after training"} <= {each.what for each in found}
    assert [each for each in found if not each.is_right] == []


class Scales(torch.nn.Module):
    """What is not used in training is no input of the module's graph there."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, scale: torch.Tensor, x: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        return x * self.weight if self.training else x * self.weight * scale + shift


class ScalesInInference(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scales = Scales()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scales(x.mean(), x + 1, x.sum(0))


@pytest.mark.cases(1)
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_a_module_may_take_more_in_one_mode_than_in_the_other(to: str, tmp_path: Path) -> None:
    module, inputs = ScalesInInference().eval(), (torch.randn(8, 4, generator=torch.Generator().manual_seed(2)),)
    converted(module, inputs, to=to).write(tmp_path / "net")
    found = check(module, tmp_path / "net", inputs, {})
    assert {"value", "value in training"} <= {each.what for each in found}
    assert [each for each in found if not each.is_right] == []


@pytest.mark.cases(1)
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_training_moves_the_statistics_of_instances(to: str, tmp_path: Path) -> None:
    module = torch.nn.Sequential(torch.nn.InstanceNorm1d(3, affine=True, track_running_stats=True)).eval()
    inputs = (torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(2)) + 1,)
    converted(module, inputs, to=to).write(tmp_path / "net")
    found = check(module, tmp_path / "net", inputs, {})
    assert {"0.running_mean after training", "0.running_var after training"} <= {each.what for each in found}
    assert [each for each in found if not each.is_right] == []


_LEFT_BY_EXPORT = (WritesToViews, CopiesIntoViews, Strides, ActivatesInPlace, MapsOverRows, SkipsLayers)


@pytest.mark.cases(6)
@pytest.mark.parametrize("make", _LEFT_BY_EXPORT)
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_what_export_leaves_in_its_graphs_is_translated(make: Any, to: str, tmp_path: Path) -> None:
    module = make()
    inputs = (torch.randn(4, 4, generator=torch.Generator().manual_seed(2)),)
    converted(module.eval(), inputs, to=to).write(tmp_path / "net")
    found = check(module, tmp_path / "net", inputs, {})
    assert found
    assert [each for each in found if each.difference > 1e-6] == []


class WritesToAPart(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y.chunk(2)[0].add_(1)
        return y


class StridesBeyond(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * 2)[:1].as_strided((2,), (2,))


class Branches(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if self.layer(x).sum() > 0 else x


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (WritesToAPart(), "writes to a part"),
        (StridesBeyond(), "reads memory outside its tensor"),
        (Branches(), "Branches cannot be exported"),
    ],
)
def test_what_cannot_be_converted_is_said(module: Any, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message) as caught:
        ob.convert(module, (torch.ones(2, 2),))
    assert "test_conversion.py" in str(caught.value)


def test_the_command_writes_and_checks(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(folder)
    arguments = ["convert", "tiny_network:Block", "--input", "1,3,4,4", "-o", "block_ms"]
    assert main([*arguments, "--page", "block.html"]) == 2
    assert main([*arguments, "--check", "--page", "block.html"]) == 0
    assert "comparisons agree." in (folder / "block.html").read_text()
    assert "comparisons agree with PyTorch" in capsys.readouterr().out
    assert main([*arguments, "--check", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["package"], said["to"], said["verdict"], said["first"]) == ("block_ms", "mindspore", "agrees", None)
    assert "aten::relu" in said["operators"]
    assert all(row["agrees"] and row["difference"] < 1e-4 for row in said["comparisons"])
    assert "value" in {row["what"] for row in said["comparisons"]}
    (folder / "given.py").write_text(
        "import torch\nexample = (torch.ones(1, 3, 4, 4),)\n"
        "def make(): return list(example)\ndef fails(): raise KeyError(1)\n"
    )
    for inputs in ("example", "make"):
        assert main(["convert", "tiny_network:Block", "--inputs", f"given:{inputs}", "-o", "block_ms"]) == 0
    capsys.readouterr()
    assert main(["convert", "tiny_network:Block", "--inputs", "given:fails", "-o", "block_ms"]) == 2
    assert "given:fails failed: KeyError: 1\n  at given.py:4" in capsys.readouterr().err
    wrong = (folder / "block_ms" / "network.py").read_text().replace("aten_relu(x)", "aten_relu(x * 2)")
    (folder / "block_ms" / "network.py").write_text(wrong)
    found = check(sys.modules["tiny_network"].Block(), folder / "block_ms", (torch.ones(1, 3, 4, 4),), {})
    assert not all(each.is_right for each in found)
    assert main(["convert", "tiny_network:Block", "-o", "block_ms"]) == 2
    (tmp_path / "__init__.py").write_text("mine = 1\n")
    assert main(["convert", "tiny_network:Block", "--input", "1,3,4,4", "-o", str(tmp_path)]) == 2
    assert "exists and opbridge did not write it" in capsys.readouterr().err
