from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from cache_entries import KEY, Header
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opbridge.build.cache import Cache, Dependencies


def damages(content: bytes) -> Iterator[bytes | None]:
    yield None
    yield b""
    yield content[: len(content) // 2]
    yield content + b"!"
    for position in range(0, len(content), max(1, len(content) // 12)):
        yield content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]


class TestDamage:
    @pytest.mark.parametrize("position", [0, 64 << 20, (80 << 20) - 1])
    def test_is_noticed_anywhere_in_a_large_file(self, cache: Cache, position: int) -> None:
        def build(folder: Path) -> Dependencies:
            with (folder / "large").open("wb") as file:
                file.truncate(80 << 20)
            return Dependencies()

        path = cache.fetch(KEY, build).path / "large"
        assert cache.fetch(KEY, build).hit
        with path.open("r+b") as file:
            file.seek(position)
            file.write(b"!")
        assert not cache.fetch(KEY, build).hit

    @pytest.mark.parametrize("name", ["result", "entry.json", "index"])
    def test_any_damage_builds_again_and_heals(self, header: Header, name: str) -> None:
        header.fetch()
        (path,) = (header.cache.root / "store").rglob(name)
        content = path.read_bytes()
        for damage in damages(content):
            if damage is None:
                path.unlink()
            else:
                path.write_bytes(damage)
            assert header.fetch() == "first"
            assert header.entry().hit
            assert path.exists()
            path.write_bytes(content)
        assert header.builds > 3

    def test_damage_is_logged(self, header: Header, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level("INFO", "opbridge")
        (header.entry().path / "result").write_text("not what was built")
        header.fetch()
        assert "is damaged and will be built again" in caplog.text

    def test_a_missing_entry_builds_again(self, header: Header) -> None:
        shutil.rmtree(header.entry().path)
        assert header.fetch() == "first"

    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(garbage=st.binary(max_size=40))
    def test_garbage_for_an_index_is_as_no_index(self, cache: Cache, garbage: bytes) -> None:
        cache.fetch_value(KEY, lambda: b"value")
        (index,) = (cache.root / "store").rglob("index")
        index.write_bytes(garbage)
        assert cache.fetch_value(KEY, lambda: b"value") == b"value"
