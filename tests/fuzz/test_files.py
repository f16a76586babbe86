"""Files that others may have written or damaged: each is read, built again or refused, and nothing else."""

from __future__ import annotations

import contextlib
import json
import subprocess
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutations import bounded, edited_files, edited_texts, fuzzing

from opbridge.authoring.doctor import examine
from opbridge.authoring.wheel.archive import Metadata, write_wheel
from opbridge.authoring.wheel.platform import Needs
from opbridge.base.errors import InputError, KernelError, OpbridgeError
from opbridge.build.cache import Cache, Dependencies, KeyBuilder
from opbridge.build.cache.dependencies import DependencySet, sealed
from opbridge.build.cache.shared.seals import Seal, SealedFile
from opbridge.build.sources.elf import attribute_block, check_library, read_library, why_no_symbol, why_not_loaded
from opbridge.build.sources.elf_image import Image

DIGEST = "0123456789abcdef0123456789abcdef01234567"
RECORD: DependencySet = {"entry": DIGEST, "absent": ["/a/shadow.h"], "files": [["@project/a.h", DIGEST, -1, 0, 0]]}
SEAL = Seal(DIGEST, RECORD, (SealedFile("nested/result", DIGEST, 14),))
BODY = bytes(SEAL).partition(b"\n")[2]
JSON_PIECES = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    "null",
    "true",
    "-1",
    "1.5",
    "../",
    "/",
    "@project/",
    "\\ud800",
    DIGEST,
]


@fuzzing
@given(edited_files([bytes(SEAL)], [range(45)]))
def test_seal_that_is_damaged(content: bytes) -> None:
    with bounded():
        assert Seal.parse(content) in (None, SEAL)


@fuzzing
@given(edited_texts([BODY.decode()], JSON_PIECES))
def test_seal_that_is_whole(body: str) -> None:
    with bounded():
        seal = Seal.parse(sealed(body.encode("utf-8", "surrogatepass")))
        assert seal is None or Seal.parse(bytes(seal)) == seal


KEY = KeyBuilder("test").add("name", "a key").key()


def build(folder: Path) -> Dependencies:
    (folder / "result").write_text("text")
    return Dependencies((Path(__file__),), (Path("/there/is/none"),))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("fuzz") / "cache")


@pytest.mark.parametrize("name", ["index", "entry.json"])
@fuzzing
@given(data=st.data())
def test_file_of_the_cache(cache: Cache, name: str, data: st.DataObject) -> None:
    entry = cache.fetch(KEY, build).path
    record = {"entry": entry.name, "absent": ["/there/is/none"], "files": [[__file__, DIGEST, -1, 0, 0]]}
    body = [record] if name == "index" else {"files": {"result": DIGEST}}
    edited = data.draw(edited_texts([json.dumps(body)], JSON_PIECES)).encode("utf-8", "surrogatepass")
    file = entry.parent / name if name == "index" else entry / name
    file.write_bytes(sealed(edited) if name == "index" else edited)
    with bounded():
        cache.entries()
        assert (cache.fetch(KEY, build).path / "result").read_text() == "text"


SOURCE = """
#include <stdio.h>
int visible(void) { return puts("x"); }
int kernel(void) { return 0; }
const int kernel_ob_signature = 1;
const char* kernel_about = "about";
static int hidden(void) { return 1; }
int (*use)(void) = hidden;
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elf")
    (folder / "lib.c").write_text(SOURCE)
    command = ["gcc", "-shared", "-fPIC", "-s", folder / "lib.c", "-o", folder / "lib.so"]
    subprocess.run(command, check=True)
    return folder / "lib.so"


def tables(data: bytes) -> list[int]:
    """Where the numbers are by which everything else is found: the header, and the tables of segments and sections."""
    segments, sections = (int.from_bytes(data[at : at + 8], "little") for at in (32, 40))
    dynamic = data.find(b"\x01\x00\x00\x00\x00\x00\x00\x00", 0x2000)
    return [
        *range(64),
        *range(segments, segments + 56 * 8),
        *range(sections, len(data)),
        *range(dynamic, dynamic + 400),
    ]


@fuzzing
@given(data=st.data())
def test_elf(library: Path, data: st.DataObject) -> None:
    whole = library.read_bytes()
    file = library.with_name("damaged.so")
    file.write_bytes(data.draw(edited_files([whole], [tables(whole)])))
    reads = (read_library, check_library, Needs.of, lambda path: attribute_block(path, False))
    with bounded():
        for read in reads:
            with contextlib.suppress(KernelError):
                read(file)
        why_no_symbol(str(file), "kernel")
        why_not_loaded(str(file), "undefined symbol: puts")
        for question in (
            lambda image: image.symbols,
            lambda image: image.local_names,
            lambda image: image.needed + image.run_path + image.inherited_run_path,
            lambda image: image.versions_needed,
            lambda image: image.versions_defined,
            lambda image: image.x86_level_needed,
            lambda image: image.defined_names("k"),
            lambda image: image.text_at(image.pointer(0x4000)),
            lambda image: image.soname,
        ):
            with contextlib.suppress(KernelError):
                question(Image(file))
        assert examine(file).path == str(file)


WORDS = ["-", ".", "_", "+", "!", "\n", "\r", "Requires-Dist: evil", "/", "..", "1", "a", "rc", "dev", "post", " "]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wheel")


@fuzzing
@given(
    name=edited_texts(["my-kernels", "a"], WORDS),
    version=edited_texts(["1.2", "1!2.0rc1.post2.dev3+local.4"], WORDS),
    license=st.none() | edited_texts(["Apache-2.0 OR MIT"], WORDS),
    file=edited_texts(["p/b.py", "p/a,b.txt"], WORDS),
)
def test_wheel(folder: Path, name: str, version: str, license: str | None, file: str) -> None:
    with bounded(), contextlib.suppress(InputError):
        metadata = Metadata(name, version, "Tensor operators: f", ">=3.10", ("opbridge>=0.1.0",), license)
        path = write_wheel(folder, metadata, "py3-none-any", {file: b"content"})
        try:
            assert path.parent == folder
            with zipfile.ZipFile(path) as archive:
                assert archive.read(file) == b"content"
                about = message_from_bytes(archive.read(f"{metadata.stem}.dist-info/METADATA"))
        finally:
            path.unlink()
        assert (about["Name"], about["Version"], about["License-Expression"]) == (name, version, license)
        assert about.get_all("Requires-Dist") == ["opbridge>=0.1.0"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Path:
    folder = tmp_path_factory.mktemp("made")
    about = Metadata("my-kernels", "1.2", "Tensor operators: f", ">=3.10", ("opbridge>=0.1.0",))
    return write_wheel(folder, about, "py3-none-any", {"p/_kernels/lib.so": library.read_bytes(), "p/__init__.py": b""})


@fuzzing
@given(data=st.data())
def test_wheel_that_is_looked_at(wheel: Path, data: st.DataObject) -> None:
    whole = wheel.read_bytes()
    file = wheel.with_name("damaged.whl")
    file.write_bytes(data.draw(edited_files([whole], [range(max(0, len(whole) - 400), len(whole))])))
    with bounded(), contextlib.suppress(OpbridgeError):
        examine(file)
