"""Which sources are PyTorch's, and which of them take the short way; nothing is compiled here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from opbridge.base.errors import BuildError, ToolchainError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, build
from opbridge.build.toolchains.build_plan import absolute
from opbridge.build.toolchains.torch_install import TorchInstall
from opbridge.build.toolchains.torch_sources import with_torch
from opbridge.twins.cuda import toolchain as cuda_twin

MakeRequest = Callable[..., BuildRequest]


@pytest.fixture
def adapted(request_for: MakeRequest) -> MakeRequest:
    """The request for a source, as PyTorch's headers in it have it."""

    def adapted(text: str, **fields: object) -> BuildRequest:
        return with_torch(absolute(request_for(text, **fields)))

    return adapted


class TestRecognised:
    @pytest.mark.parametrize(
        "text",
        [
            "#include <torch/extension.h>",
            "  #  include   <torch/torch.h>  // tensors",
            '#include "ATen/ATen.h"',
            "#include <c10/core/Device.h>",
            '#include "ms_ext.h"',
            "#include <ms_ext.h>",
        ],
    )
    def test_by_an_include_line(self, adapted: MakeRequest, text: str) -> None:
        request = adapted(text)
        assert request.library is not None
        assert (request.standard, request.portable) == ("c++20", True)

    @pytest.mark.parametrize(
        "text",
        ["#include <opbridge/kernel.h>", "// #include <torch/extension.h>", "/*\n#include <torch/torch.h>\n*/", ""],
    )
    def test_others_stay_as_they_are(self, adapted: MakeRequest, request_for: MakeRequest, text: str) -> None:
        assert adapted(text) == absolute(request_for(text))

    def test_through_a_header_of_the_users(self, adapted: MakeRequest, project: Path) -> None:
        (project / "deep").mkdir()
        (project / "one.h").write_text('#include "deep/two.h"')
        (project / "deep" / "two.h").write_text('#include "../one.h"\n#include <torch/torch.h>')
        assert adapted('#include "one.h"').library is not None

    def test_what_is_written_in_any_encoding(self, adapted: MakeRequest, project: Path) -> None:
        request = adapted("#include <torch/extension.h>")
        request.sources[0].write_bytes(b"#include <torch/extension.h> // \xff\xfe\n")
        assert with_torch(absolute(BuildRequest(request.sources, "k.so"))).library is not None


class TestShortWay:
    @pytest.mark.parametrize(
        "text",
        [
            "#include <torch/extension.h>",
            "// PyTorch\n#include <string.h>\n#include <vector>\n\n#include <torch/extension.h>\n#define LATER 1",
            "/* two\nlines */\n#include <torch/torch.h>",
            "#include <Python.h>\n#include <ATen/Operators.h>\n#include <torch/all.h>",
            "#include <torch/library.h>",
            '#include "ms_ext.h"',
            "#ifdef WITH_PYTHON\n#include <Python.h>\n#endif\n#include <torch/script.h>",
            "#pragma once\n#ifndef GUARD\n#define GUARD\n#include <torch/types.h>\n#endif",
            "#include <omp.h>\n#include <immintrin.h>\n#include <cuda_runtime.h>\n#include <torch/extension.h>",
        ],
    )
    def test_for_kernels_on_tensors(self, adapted: MakeRequest, text: str) -> None:
        library = adapted(text).library
        assert library is not None
        assert library.slim_headers is not None
        assert library.slim_headers.header.is_file()

    @pytest.mark.parametrize(
        "before",
        ["#include <mine.h>", '#include "mine.h"', "int f();", "#if 1", "#ifndef NEVER", "#pragma x", "int f(); \\"],
    )
    def test_not_where_something_could_change_the_headers(self, adapted: MakeRequest, before: str) -> None:
        library = adapted(f"{before}\n#include <torch/extension.h>").library
        assert library is not None
        assert library.slim_headers is None

    @pytest.mark.parametrize(
        "before",
        ["#define FIRST 1", "#undef FIRST", "#define FIRST(a) \\\n  a +\\\n  1", "#if 1\n#define FIRST\n#endif"],
    )
    def test_with_the_macros_that_stand_before_it(self, adapted: MakeRequest, before: str) -> None:
        request = adapted(f"{before}\n#include <torch/extension.h>")
        assert request.library is not None
        assert request.library.slim_headers is not None
        assert request.library.before == ((request.sources[0], frozenset({"FIRST"})),)

    @pytest.mark.parametrize(
        ("flags", "harmless"), [((), frozenset()), (("-DTORCH_TARGET_VERSION=0x020a000000000000",), None)]
    )
    def test_in_the_twin_they_stand_before_any_source(
        self, adapted: MakeRequest, flags: tuple[str, ...], harmless: frozenset[str] | None
    ) -> None:
        """But for one on the stable interface alone, which may have no other of PyTorch's headers."""
        kernel = "__global__ void k() {}\n#include <ATen/ATen.h>"
        request = adapted(kernel, name="k.cu", language="cuda-twin", flags=flags)
        assert request.library is not None
        assert dict(request.library.before) == {request.sources[0]: harmless}

    def test_through_headers_of_the_users(self, adapted: MakeRequest, project: Path) -> None:
        (project / "macros.h").write_text("#pragma once\n#ifdef _WIN32\n#define API 1\n#else\n#define API\n#endif\n")
        (project / "all.h").write_text(
            '#ifndef ALL_H\n#define ALL_H\n#include "macros.h"\n#include <torch/torch.h>\n#endif'
        )
        request = adapted('#include "macros.h"\n#include "all.h"\nint f();')
        assert request.library is not None
        assert request.library.before == ((request.sources[0], frozenset({"API", "ALL_H"})),)

    def test_each_source_goes_its_own_way(self, adapted: MakeRequest, project: Path) -> None:
        (project / "other.cpp").write_text("int f();\n#include <torch/extension.h>")
        request = adapted("#include <torch/extension.h>")
        both = with_torch(absolute(BuildRequest((*request.sources, project / "other.cpp"), "k.so")))
        assert both.library is not None
        assert both.library.slim_headers is not None
        assert dict(both.library.before) == {request.sources[0]: frozenset(), project / "other.cpp": None}

    @pytest.mark.parametrize(
        ("use", "kind"),
        [
            ("PYBIND11_MODULE(a, m) {}", "python"),
            ("py::object o;", "python"),
            ("struct F : torch::autograd::Function<F> {};", "python"),
            ("PyObject* o;", "tensors"),
            ("TORCH_LIBRARY(a, m) {}", "tensors"),
        ],
    )
    def test_brings_bindings_where_they_are_used(self, adapted: MakeRequest, use: str, kind: str) -> None:
        library = adapted(f"#include <torch/extension.h>\n{use}").library
        assert library is not None
        assert library.slim_headers is not None
        assert library.slim_headers.include_dir.name == kind

    @pytest.mark.parametrize("more", ["", "py::object o;"])
    def test_has_loops_on_threads(self, adapted: MakeRequest, more: str) -> None:
        """Which sources for CPUs call without a header of their name."""
        library = adapted(f"#include <torch/extension.h>\n{more}").library
        assert library is not None
        assert library.slim_headers is not None
        assert "#include <ATen/Parallel.h>" in library.slim_headers.header.read_text()

    def test_where_the_projects_own_folders_name_pytorchs(self, adapted: MakeRequest, project: Path) -> None:
        install = TorchInstall.found()
        request = adapted("#include <torch/extension.h>", include_dirs=(project, *install.include_dirs))
        assert project in request.include_dirs
        assert not set(install.include_dirs) & set(request.include_dirs)

    @pytest.mark.parametrize("use", ["torch::nn::Linear l(1, 2);", "torch::optim::SGD o;", "torch::jit::Module m;"])
    def test_not_for_what_it_lacks(self, adapted: MakeRequest, use: str) -> None:
        library = adapted(f"#include <torch/extension.h>\n{use}").library
        assert library is not None
        assert library.slim_headers is None

    def test_flags_of_headers_come_first(self, adapted: MakeRequest) -> None:
        request = adapted("#include <torch/extension.h>", flags=("-DMINE",))
        assert request.library is not None
        assert request.library.slim_headers is not None
        flags = request.library.slim_headers.flags
        assert request.flags[: len(flags)] == flags
        assert request.flags[-1] == "-DMINE"

    def test_not_past_another_ms_ext(self, adapted: MakeRequest, project: Path) -> None:
        (project / "ms_ext.h").write_text("int f();\n#include <torch/torch.h>")
        library = adapted('#include "ms_ext.h"').library
        assert library is not None
        assert library.slim_headers is None


class TestOptimization:
    """Sources that only call operators run no faster for being optimized, but half of their compilation is that."""

    @pytest.mark.parametrize(
        ("text", "full"),
        [
            ("torch::Tensor twice(torch::Tensor x) { return 2 * x; }", False),
            ("// for all\ntorch::Tensor half(torch::Tensor x) { return x / 2; }", False),
            ("void f(float* p) { for (int i = 0; i < 9; ++i) p[i] = 0; }", True),
            ("void f() { at::parallel_for(0, 9, 1, [](int64_t, int64_t) {}); }", True),
        ],
    )
    def test_is_for_loops(self, adapted: MakeRequest, text: str, full: bool) -> None:
        request = adapted(f"#include <torch/extension.h>\n{text}", flags=("-O2",))
        assert ("-O1" not in request.flags) == full
        assert request.flags[-1] == "-O2"


class TestInstall:
    @staticmethod
    def at_hand(monkeypatch: pytest.MonkeyPatch, install: TorchInstall | None) -> None:
        # An environment without PyTorch, or with a broken one.
        monkeypatch.setattr(TorchInstall, "at_hand", lambda: install)

    def test_without_pytorch_the_error_says_how_to_get_it(
        self, cache: Cache, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.at_hand(monkeypatch, None)
        with pytest.raises(BuildError, match=r"(?s)kernel\.cpp:1:10: fatal error: torch/.*pip install torch"):
            build(request_for("#include <torch/extension.h>"), cache)

    def test_a_source_that_can_do_without_pytorch_does(
        self, cache: Cache, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.at_hand(monkeypatch, None)
        build(request_for("#if __has_include(<torch/extension.h>)\n#include <torch/extension.h>\n#endif"), cache)

    def test_one_that_is_too_old(self, adapted: MakeRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at_hand(monkeypatch, replace(TorchInstall.found(), version="1.9.1+cu111"))
        with pytest.raises(ToolchainError, match=r"expected PyTorch 2.10 or newer, got 1.9.1\+cu111"):
            adapted("#include <torch/extension.h>")

    @pytest.mark.parametrize("change", [{"version": "2.99.0"}, {"revision": "another"}])
    def test_its_version_and_build_are_told_apart(
        self, adapted: MakeRequest, monkeypatch: pytest.MonkeyPatch, change: dict[str, str]
    ) -> None:
        text = "#include <torch/extension.h>"
        before = adapted(text).library
        self.at_hand(monkeypatch, replace(TorchInstall.found(), **change))
        after = adapted(text).library
        assert before is not None
        assert after is not None
        assert before.identity != after.identity

    def test_a_rebuilt_one_of_the_same_version_is_told_apart(
        self, adapted: MakeRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "lib").mkdir()
        self.at_hand(monkeypatch, replace(TorchInstall.found(), folder=tmp_path))
        identities = []
        for content in ("first", "second build"):
            for name in ("libc10.so", "libtorch_cpu.so"):
                (tmp_path / "lib" / name).write_text(content)
            library = adapted("#include <torch/extension.h>").library
            assert library is not None
            identities.append(library.identity)
        assert identities[0] != identities[1]


class TestLinking:
    def test_the_library_finds_pytorch_by_itself(self, adapted: MakeRequest) -> None:
        assert f"-Wl,-rpath,{TorchInstall.found().lib}" in adapted("#include <torch/extension.h>").link_flags

    def test_python_is_linked_for_those_who_use_it(self, adapted: MakeRequest) -> None:
        plain = adapted("#include <torch/extension.h>")
        module = adapted("#include <torch/extension.h>\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}")
        assert "-ltorch_python" not in plain.link_flags
        assert "-ltorch_python" in module.link_flags
        assert ("TORCH_EXTENSION_NAME", "kernel") in module.defines


class TestBindings:
    """Of load_inline's two texts one only tells Python of functions: it goes a way of its own."""

    MODULE = '#include <torch/extension.h>\nint f();\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n  m.def("f", f);\n}\n'
    KERNEL = "#include <torch/types.h>\n__global__ void k() {}\nint f() { k<<<1, 1>>>(); return 1; }\n"

    def request(self, folder: Path, module: str) -> BuildRequest:
        main, kernel = folder / "main.cpp", folder / "cuda.cu"
        main.write_text(module)
        kernel.write_text(self.KERNEL)
        defines = (("OPBRIDGE_TWIN_CHECKS", "1"), ("TORCH_EXTENSION_NAME", "k"))
        return with_torch(absolute(BuildRequest((main, kernel), "k.so", defines=defines, language="cuda-twin")))

    def test_are_neither_optimized_nor_watched(self, tmp_path: Path) -> None:
        request = self.request(tmp_path, self.MODULE)
        assert request.bindings == (tmp_path / "main.cpp",)
        of_bindings, of_kernel = cuda_twin.commands(request, tmp_path).compiles
        assert "-O0" in of_bindings.argv
        assert not [word for word in of_bindings.argv if word.startswith("-fsanitize")]
        assert "-O0" not in of_kernel.argv
        assert [word for word in of_kernel.argv if word.startswith("-fsanitize")]

    def test_may_depend_on_macros(self, tmp_path: Path) -> None:
        more = "#ifdef MORE\nint g();\n#endif\n"
        bound = '#ifdef MORE\n  m.def("g", g);\n#endif\n}'
        module = self.MODULE.replace("PYBIND11", f"{more}PYBIND11").replace("}", bound)
        assert self.request(tmp_path, module).bindings == (tmp_path / "main.cpp",)

    def test_come_behind_the_kernels_whose_inline_functions_are_watched(self, tmp_path: Path) -> None:
        link = cuda_twin.commands(self.request(tmp_path, self.MODULE), tmp_path).link.argv
        assert [Path(word).name for word in link if word.endswith(".o")] == ["1.o", "0.o"]

    @pytest.mark.parametrize(("bound", "kind"), [("f", "python"), ("torch::wrap_pybind_function(f)", "signatures")])
    def test_leave_the_kernels_without_python(self, tmp_path: Path, bound: str, kind: str) -> None:
        """What load_inline writes needs none of PyTorch's headers either."""
        library = self.request(tmp_path, self.MODULE.replace(", f)", f', {bound}, "")')).library
        assert library is not None
        assert library.slim_headers is not None
        assert library.binding_headers is not None
        assert library.slim_headers.include_dir.name == "tensors"
        assert library.binding_headers.include_dir.name == kind

    @pytest.mark.parametrize("code", ["int g() { return 1; }", "#define G 1", "struct S { int x; };"])
    def test_are_no_more_than_that(self, tmp_path: Path, code: str) -> None:
        assert self.request(tmp_path, self.MODULE.replace("int f();", f"int f();\n{code}")).bindings == ()
