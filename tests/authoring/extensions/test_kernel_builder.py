"""Projects of Hugging Face's kernel-builder: built and imported as they stand, and written for the hub's loader."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from subprocesses import succeed

import opbridge as ob
from opbridge.authoring.extensions.kernel_builder.backend_build import Extra, device_for, request
from opbridge.authoring.extensions.kernel_builder.project import load
from opbridge.authoring.wheel.build_hub_kernel import make_kernel
from opbridge.authoring.wheel.build_wheel import Order
from opbridge.base.errors import CallError, InputError, UnsupportedError
from opbridge.build.cache import Cache

WriteProject = Callable[..., Path]
X = torch.tensor([1.0, -2.0])


class TestExtension:
    def test_is_the_package_that_its_author_wrote(self, project: Path) -> None:
        package = ob.extension(str(project))
        assert package.scaled(X).tolist() == [3.0, -6.0]
        assert package.layers.Scaled()(X).tolist() == [3.0, -6.0]
        assert ob.extension(project) is package

    def test_its_operators_trace_by_what_its_python_says_of_them(self, project: Path) -> None:
        package = ob.extension(project)
        assert torch.compile(package.scaled, backend="aot_eager", fullgraph=True)(X).tolist() == [3.0, -6.0]

    def test_a_changed_project_is_another_beside_it(
        self, project: Path, tmp_path: Path, write_project: WriteProject
    ) -> None:
        first = ob.extension(project)
        edited = (project.parent / "kernels" / "scaled.cpp").read_text().replace("* FACTOR", "* FACTOR * 10")
        second = ob.extension(write_project(tmp_path, {"scaled.cpp": edited}))
        assert (first.scaled(X).tolist(), second.scaled(X).tolist()) == ([3.0, -6.0], [30.0, -60.0])

    def test_a_project_in_python_alone(self, tmp_path: Path) -> None:
        package = tmp_path / "torch-ext" / "pure"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("from ._ops import add_op_namespace_prefix as full\n")
        (tmp_path / "build.toml").write_text('[general]\nname = "pure"\nbackends = ["cpu"]\n')
        assert ob.extension(tmp_path / "build.toml").full("f").endswith("::f")

    def test_takes_no_sources_beside_the_file(self, project: Path) -> None:
        with pytest.raises(CallError, match="the file names the sources"):
            ob.extension(str(project), ["one.cpp"])

    def test_names_the_headers_that_are_elsewhere(self, project: Path) -> None:
        install = r"pip install --no-deps nvidia-cutlass==3\.6\.\*(, in place of .*)?, or .*: extra_include_paths"
        with pytest.raises(InputError, match=rf"needs the headers of cutlass_3_6.*\n.*{install}"):
            ob.extension(project, device="cuda-twin")

    @pytest.mark.parametrize(("version", "serves"), [((3, 6), True), ((3, 8), True), ((3, 5), False), ((4, 2), False)])
    def test_finds_the_headers_that_a_package_has_brought(
        self, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: tuple[int, int], serves: bool
    ) -> None:
        headers = tmp_path / "cutlass_library" / "source" / "include"
        (headers / "cutlass").mkdir(parents=True)
        text = "#define CUTLASS_MAJOR {}\n#define CUTLASS_MINOR {}\n".format(*version)
        (headers / "cutlass" / "version.h").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        if serves:
            assert headers in request(load(project), "cuda-twin", Extra()).include_dirs
        else:
            there = r"{}\.{}".format(*version)
            with pytest.raises(InputError, match=rf"cutlass==3\.6\.\*, in place of {there}, or "):
                request(load(project), "cuda-twin", Extra())

    def test_headers_are_looked_for_in_csrc(self, tmp_path: Path, write_project: WriteProject) -> None:
        assert tmp_path / "csrc" in request(load(write_project(tmp_path)), "cpu", Extra()).include_dirs

    @pytest.mark.matrix("test_headers_are_looked_for_in_csrc")
    def test_its_bindings_find_the_headers_of_csrc(self, tmp_path: Path, write_project: WriteProject) -> None:
        project = write_project(tmp_path)
        (tmp_path / "csrc").mkdir()
        (tmp_path / "torch-ext" / "torch_binding.h").rename(tmp_path / "csrc" / "binding.h")
        for file in (tmp_path / "torch-ext" / "torch_binding.cpp", tmp_path / "kernels" / "scaled.cpp", project):
            text = file.read_text().replace("torch-ext/torch_binding.h", "csrc/binding.h")
            file.write_text(text.replace('"torch_binding.h"', '"binding.h"'))
        assert ob.extension(project).scaled(X).tolist() == [3.0, -6.0]

    def test_names_a_source_that_is_not_there(self, tmp_path: Path, write_project: WriteProject) -> None:
        project = write_project(tmp_path)
        (tmp_path / "kernels" / "loop.h").unlink()
        with pytest.raises(InputError, match=r"cannot read .*loop\.h: No such file"):
            ob.extension(project)


class TestDevice:
    """Without a word of the caller's."""

    @pytest.mark.parametrize(
        ("backends", "has_gpu", "device"),
        [
            ('["cpu", "cuda"]', False, "cpu"),
            ('["cpu", "cuda"]', True, "cuda"),
            ('["cuda", "metal"]', False, "cuda-twin"),
            ('["cuda"]', True, "cuda"),
        ],
    )
    def test_is_a_gpu_that_is_there_then_the_cpu_then_the_twin(
        self, tmp_path: Path, backends: str, has_gpu: bool, device: str
    ) -> None:
        (tmp_path / "build.toml").write_text(f'[general]\nname = "some"\nbackends = {backends}\n')
        assert device_for(load(tmp_path / "build.toml"), None, has_gpu) == device

    @pytest.mark.parametrize(
        ("device", "said"),
        [
            (None, "has no kernels for cpu; its backends: metal"),
            ("cuda-twin", "has no kernels for cuda; its backends: metal"),
            ("metal", "'metal' is not a device of an extension; there are cpu, cuda, cuda-twin"),
        ],
    )
    def test_that_it_has_no_kernels_for_is_told(self, tmp_path: Path, device: str | None, said: str) -> None:
        (tmp_path / "build.toml").write_text('[general]\nname = "some"\nbackends = ["metal"]\n')
        with pytest.raises(UnsupportedError, match=said):
            device_for(load(tmp_path / "build.toml"), device, False)


class TestFile:
    def test_flags_are_those_of_one_part(self, project: Path) -> None:
        wanted = request(load(project), "cpu", Extra())
        flags = {source.name: wanted.flags_for(source) for source in wanted.sources}
        assert flags == {"torch_binding.cpp": (), "scaled.cpp": ("-DFACTOR=3",)}

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("[general", "is not TOML"),
            ("[general]\n", r"expected \[general\] to have the name"),
            ('[general]\nname = "a b"\n', r"expected \[general\] to have the name"),
            ('general = "ab"\n', r"expected \[general\] to be a table, got 'ab'"),
            (
                '[general]\nname = "ab"\nversion = "one"\n',
                r"toml:3:1: \[general\] version: expected a number, got 'one'",
            ),
            ('[general]\nname = "ab"\n[torch]\nsrc = "a.cpp"\n', r"toml:4:1: \[torch\] src: expected a list of texts"),
            (
                '[general]\nname = "ab"\n[torch.stable-abi]\ncpu = "new"\n',
                "expected a version as in \"2.10\", got 'new'",
            ),
        ],
    )
    def test_what_is_wrong_in_it_is_told_by_its_place(self, tmp_path: Path, text: str, said: str) -> None:
        file = tmp_path / "build.toml"
        file.write_text(text)
        with pytest.raises(InputError, match=said):
            load(file)


def test_one_version_of_the_stable_interface_may_be_that_of_all_backends(tmp_path: Path) -> None:
    file = tmp_path / "build.toml"
    file.write_text('[general]\nname = "ab"\nbackends = ["cpu", "cuda"]\n[torch]\nstable-abi = "2.9"\n')
    assert load(file).stable == {"cpu": "2.9", "cuda": "2.9"}


class TestKernels:
    """`opbridge wheel build.toml --format kernels`; its files are what the loader documents."""

    def test_bring_all_that_the_loader_wants(self, project: Path, tmp_path: Path) -> None:
        made = make_kernel(Order(project, "1"), tmp_path, Cache())
        assert made.path.parent == tmp_path / "scaled-add" / "build"
        assert made.path.name.startswith("torch-stable-abi210-cpu-")
        said = json.loads((made.path / "metadata.json").read_text())
        assert (said["name"], said["version"], said["license"]) == ("scaled-add", 2, "MIT")
        assert said["backend"] == {"type": "cpu"}
        # As the loader does it: one file by its path, under the name that the metadata says.
        succeed(
            "import importlib.util as u, sys, torch;"
            f"spec = u.spec_from_file_location({said['id']!r}, {str(made.path / '__init__.py')!r});"
            "module = u.module_from_spec(spec); sys.modules[spec.name] = module; spec.loader.exec_module(module);"
            "assert module.scaled(torch.ones(2)).tolist() == [3.0, 3.0]"
        )

    def test_the_real_loader_takes_them(self, project: Path, tmp_path: Path) -> None:
        kernels = pytest.importorskip("kernels")
        made = make_kernel(Order(project, "1"), tmp_path, Cache())
        assert kernels.get_local_kernel(made.path.parents[1], backend="cpu").scaled(X).tolist() == [3.0, -6.0]

    def test_replace_those_of_before_and_nothing_else(self, project: Path, tmp_path: Path) -> None:
        made = make_kernel(Order(project, "1"), tmp_path, Cache())
        assert make_kernel(Order(project, "1"), tmp_path, Cache()).path == made.path
        (made.path / "metadata.json").unlink()
        with pytest.raises(InputError, match="exists and is not a kernel"):
            make_kernel(Order(project, "1"), tmp_path, Cache())
