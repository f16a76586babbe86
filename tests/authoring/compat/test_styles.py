"""The ways in which authors write a setup.py: each asks for a macro, without which the source does not compile."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from forked_python import PYTHON

NAMES = "BuildExtension, CppExtension, include_paths, verify_ninja_availability"
HEAD = f"""# As it was for torch.utils.cpp_extension, whose functions some of these names are.
from pathlib import Path
from setuptools import Extension, setup
from opbridge.compat.cpp_extension import {NAMES}

class Own(BuildExtension):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, use_ninja=False, **kwargs)

    def build_extensions(self):
        self.compiler.src_extensions += [".cu", ".mm"]
        if "-Wstrict-prototypes" in self.compiler.compiler_so:
            self.compiler.compiler_so.remove("-Wstrict-prototypes")
        for extension in self.extensions:
            extension.extra_compile_args.append("-DFROM_BUILD_EXTENSIONS")
        super().build_extensions()

    def get_ext_filename(self, name):
        return super().get_ext_filename(name).replace("tiny", "libtiny")

def build(extension, command=BuildExtension):
    setup(name="tiny", version="1", py_modules=[], ext_modules=[extension], cmdclass={{"build_ext": command}})

"""
PLAIN = "tiny.cpython*.so"
STYLES = {
    "a class of its own": (
        "build(CppExtension('tiny', ['tiny.cpp'], extra_compile_args=['-DASKED']), Own)",
        "defined ASKED && defined FROM_BUILD_EXTENSIONS",
        "libtiny.*.so",
    ),
    "options of that class": (
        "build(CppExtension('tiny', ['tiny.cpp'], extra_compile_args=[]), Own.with_options(no_python_abi_suffix=True))",
        "defined FROM_BUILD_EXTENSIONS",
        "libtiny.so",
    ),
    "flags by compiler, none for this one": (
        "build(CppExtension('tiny', ['tiny.cpp'], extra_compile_args={'nvcc': ['-DASKED']}))",
        "!defined ASKED",
        PLAIN,
    ),
    "keywords, and folders that are paths": (
        "build(CppExtension(name='tiny', sources=['tiny.cpp'], include_dirs=[Path('headers')]))",
        "__has_include(<mine.h>)",
        PLAIN,
    ),
    "a plain extension with PyTorch's folders": (
        "build(Extension('tiny', ['tiny.cpp'], include_dirs=[*include_paths(), 'headers'], language='c++'))",
        "__has_include(<mine.h>) && __has_include(<torch/extension.h>)",
        PLAIN,
    ),
    "macros with values and without": (
        "build(CppExtension('tiny', ['tiny.cpp'], define_macros=[('A', None), ('B', '2')], undef_macros=['NDEBUG']))",
        "defined A && B == 2 && !defined NDEBUG",
        PLAIN,
    ),
    "who asks for ninja": (
        "verify_ninja_availability(); build(CppExtension('tiny', ['tiny.cpp'], py_limited_api=True))",
        "Py_LIMITED_API >= 0x03000000",
        "tiny.abi3.so",
    ),
}


@pytest.mark.parametrize("style", STYLES)
def test_style(tmp_path: Path, style: str) -> None:
    text, needs, name = STYLES[style]
    (tmp_path / "setup.py").write_text(HEAD + text)
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "mine.h").touch()
    (tmp_path / "tiny.cpp").write_text(f"#if !({needs})\n#error {style}\n#endif\n")
    # Without ninja, which pip installs beside Python.
    environment = {**os.environ, "PATH": "/usr/bin:/bin"}
    command = (PYTHON, "setup.py", "build_ext", "--inplace")
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [path for path in tmp_path.glob(name) if path.stat().st_size]
