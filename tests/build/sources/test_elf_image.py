"""What is read of libraries, held against what binutils reads of them, and against files that lie."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbridge.base.errors import KernelError
from opbridge.build.sources.elf_image import Image

SOURCE = """
#include <stdio.h>
#include <math.h>
int visible(double x) { return puts("x") + (int)pow(x, x); }
static const int numbers[] = {1, 2, 3};
struct { const int* to; const char* text; } table = {numbers, "some text"};
__attribute__((weak)) int maybe(void);
int use(void) { return maybe ? maybe() : 0; }
"""


@pytest.fixture(scope="module", params=[(), ("-O2", "-s", "-Wl,-z,relro,-z,now", "-Wl,-soname,libmade.so.3")])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("image")
    (folder / "made.c").write_text(SOURCE)
    command = ["gcc", "-shared", "-fPIC", folder / "made.c", "-lm", "-Wl,-rpath,$ORIGIN/x:/y", "-o", folder / "made.so"]
    subprocess.run([*command, *request.param], check=True)
    return folder / "made.so"


def said_by(tool: str, *arguments: str | Path) -> str:
    return subprocess.run([tool, *arguments], check=True, capture_output=True, text=True, env={"LC_ALL": "C"}).stdout


def test_symbols_are_those_of_nm(library: Path) -> None:
    image = Image(library)
    names = {line.split()[-1].partition("@")[0] for line in said_by("/usr/bin/nm", "-D", library).splitlines()}
    assert {symbol.name for symbol in image.symbols} == names
    defined = {s.name for s in image.symbols if s.is_defined}
    assert {"visible", "use", "table"} <= defined
    assert next(s for s in image.symbols if s.name == "maybe").is_weak
    for name in names | {"absent", ""}:
        assert image.defines(name) == (name in defined)
    assert image.defined_names("vis") == ("visible",)


def test_needs_are_those_of_readelf(library: Path) -> None:
    image, said = Image(library), said_by("/usr/bin/readelf", "-dVW", library)
    assert all(f"Shared library: [{name}]" in said for name in image.needed)
    assert {"libm.so.6", "libc.so.6"} == set(image.needed) == set(image.versions_needed)
    assert all(f"Name: {version} " in said for versions in image.versions_needed.values() for version in versions)
    assert image.run_path == (f"{library.parent.resolve()}/x", "/y")
    assert image.soname == ("libmade.so.3" if "libmade.so.3" in said else "made.so")


def test_memory_is_read_as_it_will_be(library: Path) -> None:
    image = Image(library)
    table = next(symbol.address for symbol in image.symbols if symbol.name == "table")
    assert image.read(image.pointer(table), 12) == b"".join(i.to_bytes(4, "little") for i in (1, 2, 3))
    assert image.text_at(image.pointer(table + 8)) == "some text"
    with pytest.raises(KernelError, match="has nothing at address 0x7"):
        image.read(0x7000_0000_0000, 1)


@given(data=st.data())
def test_a_damaged_library_is_an_error_and_no_crash(library: Path, data: st.DataObject) -> None:
    damaged = bytearray(library.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), min_size=1, max_size=40)):
        damaged[place] = data.draw(st.integers(0, 255))
    del damaged[data.draw(st.integers(len(damaged) // 2, len(damaged))) :]
    file = library.with_name("damaged.so")
    file.write_bytes(damaged)
    with contextlib.suppress(KernelError):
        image = Image(file)
        reads = ("needed", "soname", "run_path", "symbols", "local_names", "versions_needed", "versions_defined")
        for name in (*reads, "x86_level_needed", "is_program"):
            with contextlib.suppress(KernelError):
                getattr(image, name)
        image.defines("visible")
        image.defined_names("v")
        image.pointer(0)


def test_a_text_that_the_file_has_not_got_is_an_error_and_no_endless_search(library: Path, tmp_path: Path) -> None:
    data = bytearray(library.read_bytes())
    segments, loaded = int.from_bytes(data[32:40], "little"), []
    for at in range(segments, segments + 56 * int.from_bytes(data[56:58], "little"), 56):
        if int.from_bytes(data[at : at + 4], "little") == 1:
            loaded.append(int.from_bytes(data[at + 16 : at + 24], "little"))
            data[at + 32 : at + 40] = (1 << 40).to_bytes(8, "little")  # what it says to have in the file
    (tmp_path / "promising.so").write_bytes(data)
    with pytest.raises(KernelError, match="has nothing at address"):
        Image(tmp_path / "promising.so").text_at(loaded[-1] + (1 << 30))


def test_a_table_of_versions_that_goes_round_in_itself_is_refused(library: Path, tmp_path: Path) -> None:
    data = bytearray(library.read_bytes())
    (section,) = (section for section in Image(library)._sections if section.kind == 0x6FFFFFFE)
    data[section.offset + 2 : section.offset + 4] = b"\xff\xff"  # so many versions of the first library
    (tmp_path / "round.so").write_bytes(data)
    with pytest.raises(KernelError, match="its table of versions is longer than its section"):
        _ = Image(tmp_path / "round.so").versions_needed
