"""The file format: what pip reads of it, held against `packaging`, pip's own reader."""

from __future__ import annotations

import base64
import csv
import hashlib
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.metadata import Metadata as PipsMetadata
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from opbridge.authoring.wheel.archive import Metadata, write_wheel
from opbridge.base.errors import InputError


def metadata(name: str = "my-kernels", version: str = "1.2", **more: object) -> Metadata:
    return Metadata(name, version, "Tensor operators: f", ">=3.10", ("opbridge>=0.1.0",), **more)  # type: ignore[arg-type]


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    (tmp_path / "LICENSE").write_text("Do as you like.\n")
    about = metadata(license="Apache-2.0", license_files=(tmp_path / "LICENSE",))
    return write_wheel(tmp_path / "dist", about, "py3-none-any", {"p/b.py": b"2\n", "p/a,b.txt": b"1"})


def test_the_metadata_is_valid(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        read = PipsMetadata.from_email(archive.read("my_kernels-1.2.dist-info/METADATA"))
        assert archive.read("my_kernels-1.2.dist-info/licenses/LICENSE") == b"Do as you like.\n"
    assert (read.name, read.version, read.license_expression) == ("my-kernels", Version("1.2"), "Apache-2.0")
    assert [str(item) for item in read.requires_dist or ()] == ["opbridge>=0.1.0"]
    assert read.license_files == ["LICENSE"]


def test_the_record_has_every_file_and_its_hash(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        rows = list(csv.reader(archive.read("my_kernels-1.2.dist-info/RECORD").decode().splitlines()))
        assert sorted(row[0] for row in rows) == sorted(archive.namelist())
        for name, digest, size in rows:
            if not name.endswith("/RECORD"):
                content = archive.read(name)
                expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                assert (digest, int(size)) == (f"sha256={expected}", len(content))


def test_its_name_says_what_pip_reads_from_it(wheel: Path) -> None:
    name, version, _, tags = parse_wheel_filename(wheel.name)
    assert (name, str(version), [str(tag) for tag in tags]) == ("my-kernels", "1.2", ["py3-none-any"])


def test_the_metadata_comes_last(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert names[:2] == ["p/a,b.txt", "p/b.py"]
    assert all(".dist-info/" in name for name in names[2:])


@given(st.from_regex(r"[0-9.]{1,6}((a|b|rc)[0-9]{1,2})?(\.post[0-9])?(\.dev[0-9])?(\+[a-z0-9.]{1,4})?", fullmatch=True))
def test_a_version_is_taken_as_packaging_writes_it(text: str) -> None:
    try:
        canonical = str(Version(text)) == text
    except ValueError:
        canonical = False
    if canonical:
        assert metadata(version=text).version == text
    else:
        with pytest.raises(InputError, match="is not a version"):
            metadata(version=text)


@pytest.mark.parametrize("name", ["-x", "x-", "a b", "ä", ""])
def test_a_name_that_pip_would_not_take(name: str) -> None:
    with pytest.raises(InputError, match="cannot name a package"):
        metadata(name)


@pytest.mark.parametrize("licence", ["MIT\nRequires-Dist: evil", 'x"y', "", "MIT\r"])
def test_a_licence_that_is_no_expression(licence: str) -> None:
    with pytest.raises(InputError, match="is not an SPDX expression"):
        metadata(license=licence)


def test_a_licence_file_whose_name_would_be_lines_of_metadata() -> None:
    with pytest.raises(InputError, match="cannot be the name of a file in a wheel"):
        metadata(license_files=(Path("LICENSE\nRequires-Dist: evil"),))


def test_a_licence_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*NONE: No such file"):
        write_wheel(tmp_path, metadata(license_files=(tmp_path / "NONE",)), "py3-none-any", {})
