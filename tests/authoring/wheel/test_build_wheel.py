"""What is in a wheel, that it is the same every time, and what does not become one."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from opbridge.authoring.wheel.build_wheel import Made, Order, make_wheel
from opbridge.authoring.wheel.platform import Needs
from opbridge.authoring.wheel.variants import variants
from opbridge.base.errors import InputError
from opbridge.build.cache import Cache
from opbridge.waist.manifest import Manifest

SourcesIn = Callable[..., Path]


@pytest.fixture
def made(sources_in: SourcesIn, tmp_path: Path) -> Callable[..., Made]:
    """A wheel from the manifest's text, or of the library that the tests share."""

    def make(text: str | None = None, **fields: object) -> Made:
        manifest = sources_in(tmp_path / "project")
        if text is not None:
            manifest.write_text(text)
        return make_wheel(replace(Order(manifest, "1.0"), **fields), tmp_path / "dist", Cache())  # type: ignore[arg-type]

    return make


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


class TestContents:
    def test_every_processor_has_its_copy_and_its_manifest(self, second_version: Made) -> None:
        names = names_in(second_version.path)
        for variant in variants():
            assert f"mylib_next/_kernels/{variant.name}/mylib.cpp.so" in names
            assert f"mylib_next/_kernels/{variant.manifest}" in names
        assert {"mylib_next/__init__.py", "mylib_next/__init__.pyi", "mylib_next/py.typed"} <= set(names)
        assert second_version.kernels == {"mylib.cpp": tuple(variant.name for variant in variants())}

    def test_the_manifest_is_the_authors_but_for_the_files(
        self, second_version: Made, sources_in: SourcesIn, tmp_path: Path
    ) -> None:
        with zipfile.ZipFile(second_version.path) as archive:
            archive.extractall(tmp_path)
        written = Manifest.load(sources_in(tmp_path / "project", "mylib_next"))
        for variant in variants():
            installed = Manifest.load(tmp_path / "mylib_next" / "_kernels" / variant.manifest)
            assert [(op.schema, op.rules) for op in installed.ops] == [(op.schema, op.rules) for op in written.ops]
            for op in installed.ops:
                (kernel,) = op.kernels
                assert (kernel.path, kernel.symbol) == (f"{variant.name}/mylib.cpp.so", op.schema.name)
                assert op.file(kernel).is_file()

    def test_what_is_left_out_is_said(self, second_version: Made) -> None:
        assert second_version.notes == ("scaled_add_npu.cpp  left out: it is for npu",)

    def test_a_library_of_somebody_elses_comes_along_once(self, made: Callable[..., Made], tmp_path: Path) -> None:
        source = tmp_path / "project" / "sub" / "given.cpp"
        source.parent.mkdir(parents=True)
        source.write_text('extern "C" int f(int, void**, int*, long**, const char**, void*, void*) { return 0; }')
        library = source.parent / "given.so"
        subprocess.run(["g++", "-shared", "-fPIC", source, "-o", library], check=True)
        ops = "ops:\n  - {func: f(Tensor x) -> Tensor, out: x, kernels: {cpu: './sub/given.so:f'}}\n"
        wheel = made(f"namespace: given\n{ops}")
        with zipfile.ZipFile(wheel.path) as archive:
            (place,) = (name for name in archive.namelist() if name.endswith(".so"))
            assert place == "given/_kernels/libraries/sub/given.so"
            assert archive.read(place) == library.read_bytes()

    def test_what_a_library_needs_beside_it_is_said(self, made: Callable[..., Made], tmp_path: Path) -> None:
        folder = tmp_path / "project"
        folder.mkdir()
        (folder / "k.c").write_text("int f(void) { return 0; }")
        compiler = ["gcc", "-shared", "-fPIC", folder / "k.c", "-o"]
        subprocess.run([*compiler, folder / "libother.so.1"], check=True)
        subprocess.run(
            [*compiler, folder / "k.so", "-Wl,--no-as-needed", f"-L{folder}", "-l:libother.so.1"], check=True
        )
        ops = "ops:\n  - {func: f(Tensor x) -> Tensor, out: x, kernels: {cpu: 'k.so:f'}}\n"
        (note,) = made(f"namespace: m\n{ops}").notes
        assert note.startswith("_kernels/libraries/k.so needs libother.so.1, not in the wheel")

    def test_a_gradient_by_an_operator_comes_along_in_either_form(self, made: Callable[..., Made]) -> None:
        ops = "".join(
            f"  - {{func: '{func}', out: x, kernels: {{cpu: 'mylib.cpp:scaled_add'}}{more}}}\n"
            for func, more in [
                ("f(Tensor x, Tensor y) -> Tensor", ", backward: {x: g}"),
                ("f2(Tensor x) -> Tensor", ", backward: g"),
                ("g(Tensor grad, Tensor x) -> (Tensor grad_x)", ""),
            ]
        )
        wheel = made(f"namespace: m\nops:\n{ops}")  # which imports it
        with zipfile.ZipFile(wheel.path) as archive:
            assert b"backward:\n      x: m::g" in archive.read(f"m/_kernels/{variants()[-1].manifest}")

    def test_a_wheel_of_pytorchs_operators_is_for_any_machine(self, made: Callable[..., Made]) -> None:
        ops = "ops:\n  - {func: relu(Tensor x) -> Tensor, kernels: {cpu: 'aten::relu'}}\n"
        assert made(f"namespace: renamed\n{ops}").path.name == "renamed-1.0-py3-none-any.whl"

    def test_a_name_of_its_own(self, made: Callable[..., Made]) -> None:
        ops = "ops:\n  - {func: relu(Tensor x) -> Tensor, kernels: {cpu: 'aten::relu'}}\n"
        wheel = made(f"namespace: renamed\n{ops}", name="my-kernels")
        assert wheel.path.name.startswith("my_kernels-1.0-")
        assert "my_kernels/__init__.py" in names_in(wheel.path)

    def test_an_adapter_is_named_by_what_it_is_for(self, mylib: Made) -> None:
        (adapter,) = mylib.adapters
        assert f"mylib/_kernels/adapters/{adapter}" in names_in(mylib.path)
        assert adapter.startswith("torch-2.")
        assert f"cpython-{sys.version_info[0]}{sys.version_info[1]}" in adapter


def test_the_same_input_gives_the_same_bytes(
    sources_in: SourcesIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = []
    for folder, epoch, flags in (("a", "0", ""), ("somewhere/else", "1700000000", "-g")):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
        monkeypatch.setenv("CXXFLAGS", flags)
        manifest = sources_in(tmp_path / folder)
        # A cache of its own: everything is compiled again.
        cache = Cache(tmp_path / folder / "cache")
        wheels.append(make_wheel(Order(manifest, "1.0"), tmp_path / folder / "dist", cache).path)
    assert wheels[0].name == wheels[1].name
    assert wheels[0].read_bytes() == wheels[1].read_bytes()


CUDA_KERNEL = """\
#include <opbridge/kernel.h>
__global__ void fill(float* out, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = 1;
}
void ones(ob::In<float> x, ob::Out<float> out) {
  fill<<<(out.numel() + 255) / 256, 256>>>(out.data(), out.numel());
}
OB_KERNEL(ones)
"""


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
def test_kernels_for_cuda_come_where_they_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPBRIDGE_CUDA_ARCHS", "80")  # one is compiled faster than all
    wheels = []
    for folder in (tmp_path / "a", tmp_path / "somewhere" / "else"):
        folder.mkdir(parents=True)
        (folder / "ones.cu").write_text(CUDA_KERNEL)
        ops = "ops:\n  - {func: ones(Tensor x) -> Tensor, out: x, kernels: {cuda: ones.cu}}\n"
        (folder / "ops.yaml").write_text(f"namespace: filling\n{ops}")
        order = Order(folder / "ops.yaml", "1.0", devices=("cpu", "cuda"))
        wheels.append(make_wheel(order, folder / "dist", Cache(folder / "cache")))
    assert wheels[0].path.read_bytes() == wheels[1].path.read_bytes()
    assert wheels[0].kernels == {"ones.cu": ()}
    with zipfile.ZipFile(wheels[0].path) as archive:
        for variant in variants():
            assert b"cuda: cuda/ones.cu.so" in archive.read(f"filling/_kernels/{variant.manifest}")
        archive.extract("filling/_kernels/cuda/ones.cu.so", tmp_path)
    # Of CUDA it brings what it needs.
    assert not Needs.of(tmp_path / "filling" / "_kernels" / "cuda" / "ones.cu.so").strangers


class TestRefused:
    def test_a_kernel_for_one_pytorch_alone(self, made: Callable[..., Made], tmp_path: Path) -> None:
        (tmp_path / "project").mkdir()
        (tmp_path / "project" / "aten.cpp").write_text("#include <torch/extension.h>\n")
        ops = "ops:\n  - {func: f(Tensor x) -> Tensor, out: x, kernels: {cpu: aten.cpp}}\n"
        with pytest.raises(InputError, match=r"ops\.yaml:3:.*aten\.cpp includes PyTorch's headers"):
            made(f"namespace: m\n{ops}")

    def test_a_manifest_without_operators(self, made: Callable[..., Made]) -> None:
        with pytest.raises(InputError, match=r"ops\.yaml declares no operators"):
            made("namespace: m\nops: []\n")

    def test_a_library_for_another_kind_of_machine(self, made: Callable[..., Made], tmp_path: Path) -> None:
        (tmp_path / "project").mkdir()
        (tmp_path / "project" / "k.c").write_text("int f(void) { return 0; }")
        library = tmp_path / "project" / "k.so"
        subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "project" / "k.c", "-o", library], check=True)
        content = bytearray(library.read_bytes())
        content[18:20] = (243).to_bytes(2, "little")
        library.write_bytes(content)
        ops = "ops:\n  - {func: f(Tensor x) -> Tensor, out: x, kernels: {cpu: 'k.so:f'}}\n"
        with pytest.raises(InputError, match=r"k\.so is built for riscv64, and a wheel made here is for"):
            made(f"namespace: m\n{ops}")

    def test_an_operator_that_would_have_no_kernel(self, made: Callable[..., Made]) -> None:
        ops = "ops:\n  - {func: f(Tensor x) -> Tensor, out: x, kernels: {npu: f.cpp}}\n"
        with pytest.raises(InputError, match="m::f has a kernel for npu alone, and the wheel is for cpu"):
            made(f"namespace: m\n{ops}")

    @pytest.mark.parametrize("name", ["torch", "json", "opbridge", "class", "1st", "two words"])
    def test_a_name_that_is_no_package_of_its_own(self, made: Callable[..., Made], name: str) -> None:
        with pytest.raises(InputError, match=f"'{name}' cannot be imported as a package of its own"):
            made(name=name)

    def test_a_version_that_pip_does_not_know(self, made: Callable[..., Made]) -> None:
        with pytest.raises(InputError, match=r"'1\.2-beta' is not a version"):
            made(version="1.2-beta")

    def test_two_operators_of_one_name_in_python(self, made: Callable[..., Made]) -> None:
        ops = "".join(
            f"  - {{func: {func}(Tensor x) -> Tensor, kernels: {{cpu: 'aten::relu'}}}}\n" for func in ("f.b", "f_b")
        )
        with pytest.raises(InputError, match=r"m::f\.b and m::f_b would both be called f_b in Python"):
            made(f"namespace: m\nops:\n{ops}")
