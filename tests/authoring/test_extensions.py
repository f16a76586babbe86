"""ob.extension: PyTorch's extensions as Python modules; most here are written to Python alone, which compiles fast."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from subprocesses import succeed

import opbridge as ob
from opbridge.authoring.extensions.arguments import flags
from opbridge.authoring.extensions.imported_library import warn_without_a_gpu
from opbridge.authoring.extensions.requests import request_for
from opbridge.base.errors import BuildError, CallError, InputError, UnsupportedError

PLAIN = """#include <Python.h>
#define JOINED(a, b) a##b
#define INIT(name) JOINED(PyInit_, name)
#ifndef ANSWER
#define ANSWER 42
#endif
static PyObject* answer(PyObject*, PyObject*) { return PyLong_FromLong(ANSWER); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "plain", "", 0, methods, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC INIT(TORCH_EXTENSION_NAME)() { return PyModule_Create(&definition); }
"""

MakeSource = Callable[..., Path]


@pytest.fixture
def source(tmp_path: Path) -> MakeSource:
    def write(text: str = PLAIN, name: str = "plain.cpp") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


class TestFromFiles:
    def test_gives_the_module(self, source: MakeSource) -> None:
        module = ob.extension("plain", sources=[str(source())])
        assert module.__name__ == "plain"
        assert module.answer() == 42

    def test_the_compat_layer_leaves_its_name_alone(self, source: MakeSource) -> None:
        code = f"import opbridge.compat.cpp_extension, opbridge as ob; ob.extension('plain', {str(source())!r})"
        succeed(code)

    def test_one_source_needs_no_list(self, source: MakeSource) -> None:
        assert ob.extension("plain", source()).answer() == 42

    def test_asked_for_again_it_is_the_same_module(self, source: MakeSource) -> None:
        assert ob.extension("plain", source()) is ob.extension("plain", source())

    def test_an_edited_source_gives_a_new_module_under_its_name(self, source: MakeSource) -> None:
        old = ob.extension("plain", source())
        new = ob.extension("plain", source(PLAIN.replace("42", "43")))
        assert (old.answer(), new.answer()) == (42, 43)
        assert new.__name__ == "plain"

    @pytest.mark.matrix("test_an_edited_source_gives_a_new_module_under_its_name, without pybind11's headers")
    def test_so_does_one_that_pybind11_knows_by_name(self, source: MakeSource) -> None:
        old, new = (ob.extension("known", source(CLASS.format(answer=answer))) for answer in (42, 43))
        assert (old.Answer().get(), new.Answer().get()) == (42, 43)
        assert new.Answer.__module__ == "known"

    def test_flags_and_folders_reach_the_compiler(self, source: MakeSource, tmp_path: Path) -> None:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "answer.h").write_text("#define ANSWER (GIVEN + 1)\n")
        module = ob.extension(
            "plain",
            source(f'#include "answer.h"\n{PLAIN}'),
            extra_cflags=["-DGIVEN=6", ""],
            extra_include_paths=tmp_path / "mine",
            extra_ldflags=["-Wl,-O1 -Wl,--as-needed", ""],  # several in one text and none, as a shell takes them
        )
        assert module.answer() == 7

    def test_build_directory_gets_a_copy(self, source: MakeSource, tmp_path: Path) -> None:
        ob.extension("plain", source(), build_directory=tmp_path / "made" / "here")
        assert (tmp_path / "made" / "here" / "plain.so").is_file()

    def test_verbose_tells_every_step(self, source: MakeSource, capfd: pytest.CaptureFixture[str]) -> None:
        ob.extension("plain", source(f"{PLAIN}// {source()}\nstatic int unused;\n"), verbose=True)
        said = capfd.readouterr().err
        assert "compiling plain.cpp" in said
        assert "unused" in said

    def test_torch_is_imported_first(self, source: MakeSource) -> None:
        """So an extension's symbols are there, whatever its user has imported."""
        text = PLAIN.replace("#include <Python.h>", "#include <Python.h>\n#include <c10/core/CPUAllocator.h>")
        text = text.replace("FromLong(ANSWER)", "FromLong(c10::GetCPUAllocator() != nullptr)")
        code = f"import opbridge as ob; print(ob.extension('plain', {str(source(text))!r}).answer())"
        said = succeed(code)
        assert said == "1\n"


TWICE = 'torch::Tensor twice(torch::Tensor x) { TORCH_CHECK(x.dim() == 1, "a row"); return 2 * x; }'


CLASS = """#include <pybind11/pybind11.h>
struct Answer {{ int get() const {{ return {answer}; }} }};
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{
  pybind11::class_<Answer>(m, "Answer", pybind11::module_local()).def(pybind11::init<>()).def("get", &Answer::get);
}}
"""


def test_libraries_of_one_process_have_inline_variables_of_their_own(source: MakeSource) -> None:
    """As two that share a header have: the second one's was constructed over the first's, and both destroyed it."""
    shared = "#include <memory>\ninline std::shared_ptr<int> device_flags = std::make_shared<int>(1);\n"
    plain = shared + PLAIN.replace("PyLong_FromLong(ANSWER)", "PyLong_FromLong(++*device_flags)")
    paths = [str(source(plain, f"{name}.cpp")) for name in ("first", "second")]
    code = f"""
import numpy as np, opbridge as ob
modules = [ob.extension(f"own_{{place}}", path) for place, path in enumerate({paths})]
assert [module.answer() for module in modules] == [2, 2]
kernel = {shared!r} + '''#include <opbridge/kernel.h>
void NAME(ob::In<float> x, ob::Out<float> out) {{ out[0] = x[0] + ++*device_flags; }}
OB_KERNEL(NAME)'''
for name in ("one", "two"):
    op = ob.inline(kernel.replace("NAME", name), schema=f"own::{{name}}(Tensor x) -> Tensor", out="x")
    assert op(np.ones(1, np.float32)) == 3
"""
    succeed(code)


class TestFromText:
    def test_joins_the_texts(self) -> None:
        head, tail = PLAIN.split("#ifndef", 1)
        module = ob.extension("plain", cpp_sources=[head, f"#ifndef{tail}"], no_implicit_headers=True)
        assert module.answer() == 42

    def test_build_directory_gets_the_source(self, tmp_path: Path) -> None:
        ob.extension("plain", cpp_sources=PLAIN, no_implicit_headers=True, build_directory=tmp_path)
        assert (tmp_path / "main.cpp").read_text() == PLAIN

    def test_binds_functions_with_their_docstrings(self) -> None:
        module = ob.extension(
            "bound",
            cpp_sources=TWICE,
            functions={"twice": 'Says "twice".'},
        )
        import torch

        assert torch.equal(module.twice(torch.ones(3)), torch.full((3,), 2.0))
        assert 'Says "twice".' in module.twice.__doc__
        with pytest.raises(RuntimeError, match="a row"):
            module.twice(torch.ones(1, 1))


OPERATOR = """#include <ATen/core/Tensor.h>
#include <torch/library.h>
TORCH_LIBRARY(extension_test, m) { m.def("nothing(Tensor x) -> Tensor", [](const at::Tensor& x) { return x; }); }
"""


class TestOperators:
    def test_are_registered_and_the_path_is_returned(self, source: MakeSource) -> None:
        code = f"""
import torch, opbridge as ob
path = ob.extension("nothing", {str(source(OPERATOR, "ops.cpp"))!r}, is_python_module=False)
assert path.endswith("nothing.so"), path
assert torch.ops.extension_test.nothing(torch.ones(2)).sum() == 2
"""
        succeed(code)

    def test_a_function_that_no_library_has_is_named(self, source: MakeSource) -> None:
        code = 'int elsewhere(int x);\nextern "C" {\nint (*address)(int) = elsewhere;\n}\n'
        with pytest.raises(InputError, match=r"(?s)does not load: .*undefined symbol: \S*elsewhere.*extra_ldflags"):
            ob.extension("lacking", source(code, "lacking.cpp"), is_python_module=False)

    def test_without_a_module_the_error_says_so(self, source: MakeSource) -> None:
        with pytest.raises(InputError, match=r"(?s)does not load.*PYBIND11_MODULE.*is_python_module=False"):
            ob.extension("nothing_here", source("int f() { return 1; }"))


class TestDevices:
    FILES = (Path("bindings.cpp"), Path("kernel.cu"))

    @pytest.mark.parametrize(
        ("files", "device", "language"),
        [
            (FILES, None, "cuda"),
            (FILES[:1], None, "c++"),
            (FILES, "cuda-twin", "cuda-twin"),
            (FILES[:1], "cuda", "cuda"),
        ],
    )
    def test_a_cu_asks_for_cuda(self, files: tuple[Path, ...], device: str | None, language: str) -> None:
        assert request_for("both", files, output="both.so", device=device).language == language

    @pytest.mark.parametrize("device", [None, "cuda", "cuda-twin"])
    def test_the_environment_has_the_twin_run_what_is_for_a_gpu(
        self, device: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = request_for("both", self.FILES, output="both.so", device="cuda-twin", cuda_flags=["-arch=sm_80", "-DA"])
        monkeypatch.setenv("OPBRIDGE_CUDA_TWIN", "1")
        flags = ["-arch=sm_80", "-DA"]
        assert request_for("both", self.FILES, output="both.so", device=device, cuda_flags=flags) == asked
        assert request_for("host", self.FILES[:1], output="host.so").language == "c++"

    @pytest.mark.skipif(torch.cuda.is_available(), reason="PyTorch sees a GPU")
    def test_kernels_that_no_gpu_will_run_are_no_secret(self) -> None:
        with pytest.warns(UserWarning, match=r"'both' is built for a GPU, and PyTorch sees none.*OPBRIDGE_CUDA_TWIN=1"):
            warn_without_a_gpu("both")

    def test_each_compiler_gets_its_own_flags(self) -> None:
        request = request_for("both", self.FILES, output="both.so", flags=["-Wextra"], cuda_flags=["-lineinfo"])
        assert [request.flags_for(source) for source in self.FILES] == [("-Wextra",), ("-lineinfo",)]

    def test_an_empty_flag_is_none(self) -> None:
        assert flags("extra_cflags", ["", "-O2"]) == ("-O2",)
        assert flags("extra_ldflags", "") == ()

    def test_the_twins_compiler_is_spared_flags_for_gpus(self) -> None:
        flags = ["-O3", "-gencode=arch=compute_90,code=sm_90", "-DA"]
        request = request_for("both", self.FILES, output="both.so", device="cuda-twin", cuda_flags=flags)
        assert request.flags_for(self.FILES[1]) == ("-O3", "-DA")


class TestMistakes:
    def test_the_users_line_comes_first(self, source: MakeSource) -> None:
        path = source(PLAIN.replace("FromLong(ANSWER)", "FromLong(WRONG)"))
        with pytest.raises(BuildError) as failure:
            ob.extension("plain", path)
        assert str(failure.value).startswith(f"{path}:7:")

    @pytest.mark.parametrize("name", ["", "a-b", "a.b", "1a", "ä", None, 3])
    def test_a_name_that_is_none(self, source: MakeSource, name: object) -> None:
        with pytest.raises(CallError, match="expects a name"):
            ob.extension(name, source())  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({}, "got neither"),
            ({"sources": "a.cpp", "cpp_sources": ""}, "got both"),
            ({"sources": "a.cpp", "functions": ["f"]}, "go with `cpp_sources`"),
            ({"sources": 3}, "sources: expected a string or a list of strings, got 3"),
            ({"sources": "a.cpp", "extra_cflags": [1]}, r"extra_cflags: expected .* got \[1\]"),
            ({"sources": "a.cpp", "extra_ldflags": 1.5}, "extra_ldflags: expected"),
            ({"sources": "a.cpp", "extra_ldflags": "-l'x"}, "not a list of flags, as a shell reads it: No closing"),
            ({"sources": "a.cpp", "device": "tpu"}, "unknown device 'tpu'; devices of an extension: cpu, cuda"),
        ],
    )
    def test_arguments_that_do_not_fit(self, arguments: dict[str, object], said: str) -> None:
        with pytest.raises(CallError, match=said):
            ob.extension("plain", **arguments)  # type: ignore[arg-type]

    @pytest.mark.parametrize("argument", ["is_standalone", "with_sycl", "sycl_sources", "extra_sycl_cflags"])
    def test_what_cannot_be_had_is_said(self, source: MakeSource, argument: str) -> None:
        with pytest.raises(UnsupportedError, match=r"is_standalone|SYCL"):
            ob.extension("plain", source(), **{argument: ["-x"]})  # type: ignore[arg-type]

    def test_no_such_file(self) -> None:
        with pytest.raises(InputError, match=r"missing\.cpp: no such file"):
            ob.extension("plain", "missing.cpp")

    def test_a_folder_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(InputError, match="cannot write"):
            ob.extension("plain", cpp_sources=PLAIN, no_implicit_headers=True, build_directory=tmp_path / "file")


@pytest.mark.parametrize(
    ("text", "flags", "is_linked"),
    [
        ("", (), False),
        ("#include <cublas_v2.h>", (), True),
        ("void of() { cublasSgemm(at::cuda::getCurrentCUDABlasHandle()); }", (), True),
        ("void of(void** handle) { torch_get_current_cuda_blas_handle(handle); }", (), True),
        ("", ("-lcublas", "-lcudart"), True),
    ],
)
def test_the_twin_has_libraries_of_its_own(
    source: MakeSource, text: str, flags: tuple[str, ...], is_linked: bool
) -> None:
    """Also those that nobody names, because PyTorch for GPUs has loaded them."""
    request = request_for("k", [source(text, "k.cu")], output="k.so", device="cuda-twin", link_flags=(*flags, "-lm"))
    assert request.link_flags[0] == "-lm"
    assert any("cublas_twin" in flag for flag in request.link_flags) == is_linked
    assert not set(flags).intersection(request.link_flags)
