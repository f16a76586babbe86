from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbridge._core import load_kernel
from opbridge.base.errors import KernelError
from opbridge.build.sources.elf import check_library, exported_functions, read_library, why_no_symbol, why_not_loaded

SOURCE = """
#include <stdio.h>
int visible(void) { return puts("x"); }
int kernel(void) { return 0; }
const int kernel_ob_signature = 1;
static int hidden(void) { return 1; }
int (*use)(void) = hidden;
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elf")
    (folder / "lib.c").write_text(SOURCE)
    subprocess.run(["gcc", "-shared", "-fPIC", folder / "lib.c", "-o", folder / "lib.so"], check=True)
    return folder / "lib.so"


def test_exports_are_functions_that_others_see(library: Path) -> None:
    names = exported_functions(library)
    assert {"visible", "kernel"} <= set(names)
    assert not {"hidden", "use", "kernel_ob_signature", "puts"} & set(names)


def test_undefined_symbols_are_what_the_library_needs(library: Path) -> None:
    assert "puts" in read_library(library).undefined


def test_kernels_are_those_that_describe_themselves(library: Path) -> None:
    assert read_library(library).kernels == ("kernel",)


def test_what_goes_with_a_kernel_in_mindspore_is_none(tmp_path: Path) -> None:
    block = compiled(
        tmp_path, "block", "int F(void) { return 0; } int FInit(void) { return 0; } int Init(void) { return 0; }\n"
    )
    assert set(read_library(block).kernels) == {"F", "Init"}


def test_a_missing_symbol_gets_the_nearest_name(library: Path) -> None:
    assert why_no_symbol(str(library), "kernal") == "\n  it exports kernel; did you mean 'kernel'?"
    assert why_no_symbol(str(library), "zzz") == "\n  it exports kernel"


def test_a_library_of_another_machine_is_told(library: Path, tmp_path: Path) -> None:
    data = bytearray(library.read_bytes())
    data[18:20] = (183).to_bytes(2, "little")
    (tmp_path / "arm.so").write_bytes(data)
    with pytest.raises(KernelError, match=r"cannot load .*\n  it is built for aarch64 and this machine is"):
        load_kernel(str(tmp_path / "arm.so"), "kernel")
    assert why_not_loaded(str(library), "f") == ""


def compiled(folder: Path, name: str, source: str, *flags: str) -> Path:
    (folder / f"{name}.c").write_text(source)
    library = folder / f"lib{name}.so"
    subprocess.run(["gcc", "-shared", "-fPIC", folder / f"{name}.c", "-o", library, *flags], check=True)
    return library


def test_a_library_that_another_one_is_missing_from(tmp_path: Path) -> None:
    needed = compiled(tmp_path, "needed", "int f(void) { return 1; }\n")
    library = compiled(tmp_path, "user", "int f(void); int g(void) { return f(); }\n", f"-L{tmp_path}", "-lneeded")
    needed.unlink()
    message = r"(?s)cannot load .*\n  it needs libneeded.so, which is not where the loader looks"
    with pytest.raises(KernelError, match=message):
        load_kernel(str(library), "g")


def test_a_library_of_a_newer_system(library: Path, tmp_path: Path) -> None:
    wanted = next(version for version in (b"GLIBC_2.2.5", b"GLIBC_2.17") if version in library.read_bytes())
    (tmp_path / "newer.so").write_bytes(library.read_bytes().replace(wanted, b"GLIBC_9.99".ljust(len(wanted), b"9")))
    with pytest.raises(
        KernelError, match=r"\n  it was built on a newer system, with GLIBC 9\.99+; this one has glibc 2"
    ):
        load_kernel(str(tmp_path / "newer.so"), "kernel")


def test_a_library_that_lacks_a_function(tmp_path: Path) -> None:
    library = compiled(tmp_path, "lacks", "int f(void); int g(void) { return f(); }\n")
    with pytest.raises(KernelError, match=r"undefined symbol: f\n  no library that it was linked with defines it"):
        load_kernel(str(library), "g")
    torch = compiled(tmp_path, "torchy", "int _ZN2at3addEv(void); int g(void) { return _ZN2at3addEv(); }\n")
    with pytest.raises(KernelError, match=r"\n  that is PyTorch's: compile it against the PyTorch"):
        load_kernel(str(torch), "g")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"!<arch>\n", "expected an ELF file, it begins with b'!<arch>"),
        (b"\x7fELF\x01\x01", "not for a 64-bit little-endian machine"),
        (b"\x7fELF\x02\x01", "is damaged: it ends in the middle of a table"),
    ],
)
def test_what_is_no_library(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "f.so"
    file.write_bytes(content)
    with pytest.raises(KernelError, match=message):
        read_library(file)
    with pytest.raises(KernelError, match=message):
        check_library(file)
    assert message in why_no_symbol(str(file), "f")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match="No such file"):
        read_library(tmp_path / "none.so")


@given(data=st.data())
def test_a_damaged_library_is_an_error_and_no_crash(library: Path, data: st.DataObject) -> None:
    damaged = bytearray(library.read_bytes())
    tables = [
        *range(64),
        *range(len(damaged) - 64 * 30, len(damaged)),
    ]  # the header, and the section headers at the end
    for place in data.draw(st.lists(st.sampled_from(tables), min_size=1, max_size=5)):
        damaged[place] = data.draw(st.integers(0, 255))
    del damaged[data.draw(st.integers(len(damaged) // 2, len(damaged))) :]
    file = library.with_name("damaged.so")
    file.write_bytes(damaged)
    for read in (read_library, check_library):
        with contextlib.suppress(KernelError):
            read(file)


def test_a_library_that_was_cut_short_is_not_loaded(library: Path, tmp_path: Path) -> None:
    check_library(library)
    data = library.read_bytes()
    (tmp_path / "short.so").write_bytes(data[: len(data) // 4])
    with pytest.raises(KernelError, match=rf"was cut short: it has {len(data) // 4} bytes of \d+"):
        check_library(tmp_path / "short.so")
