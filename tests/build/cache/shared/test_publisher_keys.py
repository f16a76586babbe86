"""Results that only the holder of a key can have published."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path

import pytest
from shared_results import KEY, SOMEBODY, as_root, compiled, published, refuses
from subprocesses import python

from opbridge.base.errors import InputError
from opbridge.build.cache import Cache
from opbridge.build.cache.shared import SharedCache, SigningKey
from opbridge.build.cache.shared.publisher_keys import KEYS, is_signed, keys_named


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> SigningKey:
    return SigningKey.make(tmp_path_factory.mktemp("keys") / "ci.key")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> SigningKey:
    return SigningKey.make(tmp_path_factory.mktemp("keys") / "other.key")


class TestWithKeysNamed:
    @pytest.fixture(autouse=True)
    def named(self, key: SigningKey, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(KEYS, key.public)

    def test_what_one_of_them_signed_is_taken(
        self,
        tmp_path: Path,
        header: Path,
        shared: SharedCache,
        key: SigningKey,
        other: SigningKey,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        published(tmp_path, header, shared, key)
        assert Cache(tmp_path / "node").fetch(KEY, refuses).hit
        monkeypatch.setenv(KEYS, f"{other.public}, {key.public}")
        assert Cache(tmp_path / "second").fetch(KEY, refuses).hit
        monkeypatch.setenv(KEYS, other.public)
        assert not Cache(tmp_path / "third").fetch(KEY, compiled(header)).hit

    def test_what_nobody_signed_is_not_taken(
        self, tmp_path: Path, header: Path, shared: SharedCache, caplog: pytest.LogCaptureFixture
    ) -> None:
        result = published(tmp_path, header, shared)
        assert not Cache(tmp_path / "node").fetch(KEY, compiled(header)).hit
        assert f"none of the trusted keys signed, which is not used: {result}" in caplog.text

    @pytest.mark.parametrize("name", ["seal", "signature"])
    def test_no_changed_byte_gets_through(
        self, tmp_path: Path, header: Path, shared: SharedCache, key: SigningKey, name: str
    ) -> None:
        file = published(tmp_path, header, shared, key) / name
        content = file.read_bytes()
        places = range(0, len(content), len(content) // 8)
        changed = [content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in places]
        for number, damaged in enumerate((*changed, b"", content[:-1], content + b"!")):
            file.write_bytes(damaged)
            assert not Cache(tmp_path / f"node {number}").fetch(KEY, compiled(header)).hit

    def test_the_signature_of_one_seal_is_none_of_another(
        self, tmp_path: Path, header: Path, shared: SharedCache, key: SigningKey
    ) -> None:
        signature = (published(tmp_path, header, shared, key) / "signature").read_bytes()
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        header.write_text("second")
        result = published(elsewhere, header, SharedCache(elsewhere / "shared"))
        (result / "signature").write_bytes(signature)
        shelf = shared.root / KEY[:2] / KEY
        result.rename(shelf / result.name)
        assert not Cache(tmp_path / "node").fetch(KEY, compiled(header)).hit

    @as_root
    def test_the_owner_counts_too(self, tmp_path: Path, header: Path, shared: SharedCache, key: SigningKey) -> None:
        result = published(tmp_path, header, shared, key)
        os.chown(result, SOMEBODY, SOMEBODY)
        assert not Cache(tmp_path / "node").fetch(KEY, compiled(header)).hit

    def test_what_is_there_without_a_signature_is_published_with_one(
        self, tmp_path: Path, header: Path, shared: SharedCache, key: SigningKey, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        published(tmp_path, header, shared)
        monkeypatch.delenv(KEYS)  # the publisher need not name what it signs with
        builder = Cache(tmp_path / "builder")
        assert builder.publish(builder.fetch(KEY, refuses).path, shared, key)
        assert not builder.publish(builder.fetch(KEY, refuses).path, shared, key)
        monkeypatch.setenv(KEYS, key.public)
        assert Cache(tmp_path / "node").fetch(KEY, refuses).hit

    def test_a_signature_that_waits_is_not_waited_for(
        self, tmp_path: Path, header: Path, shared: SharedCache, key: SigningKey
    ) -> None:
        signature = published(tmp_path, header, shared, key) / "signature"
        signature.unlink()
        os.mkfifo(signature)
        assert not Cache(tmp_path / "node").fetch(KEY, compiled(header)).hit


def test_a_signature_for_another_purpose_does_not_count(key: SigningKey) -> None:
    assert is_signed(b"text", key.sign(b"text"), (key.public,))
    assert not is_signed(b"text", key.private.sign(b"text"), (key.public,))


class TestKeyFiles:
    def test_a_key_is_its_users_alone_and_comes_back(self, tmp_path: Path) -> None:
        made = SigningKey.make(tmp_path / "ci.key")
        assert stat.S_IMODE((tmp_path / "ci.key").stat().st_mode) == 0o600
        assert SigningKey.read(tmp_path / "ci.key").public == made.public

    def test_none_is_written_over(self, tmp_path: Path) -> None:
        (tmp_path / "ci.key").write_text("something")
        with pytest.raises(InputError, match=r"cannot write the key .*: File exists"):
            SigningKey.make(tmp_path / "ci.key")

    def test_one_that_others_may_read_is_refused(self, tmp_path: Path) -> None:
        SigningKey.make(tmp_path / "ci.key")
        (tmp_path / "ci.key").chmod(0o640)
        with pytest.raises(InputError, match=r"has mode 640: others may read or replace it\n  close it: chmod 600"):
            SigningKey.read(tmp_path / "ci.key")

    def test_what_is_no_key_is_refused(self, tmp_path: Path) -> None:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        def refused(content: bytes | None, words: str) -> None:
            path = tmp_path / "some.key"
            path.unlink(missing_ok=True)
            if content is not None:
                path.write_bytes(content)
                path.chmod(0o600)
            with pytest.raises(InputError, match=words):
                SigningKey.read(path)

        def of_another_kind(password: serialization.KeySerializationEncryption) -> bytes:
            key = ec.generate_private_key(ec.SECP256R1())
            return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, password)

        refused(None, r"No such file or directory\n  make one: opbridge cache key .*some.key")
        refused(b"", "not a private key that can be read")
        refused(b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "not a private key that can be read")
        refused(of_another_kind(serialization.NoEncryption()), "is of another kind; expected Ed25519")
        refused(
            of_another_kind(serialization.BestAvailableEncryption(b"p")), "(?s)cannot? be read|expected one without"
        )
        (tmp_path / "some.key").unlink()
        os.mkfifo(tmp_path / "some.key")
        with pytest.raises(InputError, match="it is a FIFO"):
            SigningKey.read(tmp_path / "some.key")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is set and names no key"),
        (" , ", "is set and names no key"),
        ("ci", "names 'ci', which is not a public key"),
        ("ed25519:AAAA", "which is not a public key"),
        ("rsa:" + base64.b64encode(bytes(32)).decode(), "which is not a public key"),
        ("ed25519:" + "ä" * 44, "which is not a public key"),
    ],
)
def test_what_names_no_key_is_an_error(monkeypatch: pytest.MonkeyPatch, text: str, words: str) -> None:
    monkeypatch.setenv(KEYS, text)
    with pytest.raises(InputError, match=words):
        keys_named()


WITHOUT_THE_PACKAGE = """
import pathlib, sys
sys.modules["cryptography"] = None
from opbridge.build.cache import Cache, Dependencies, KeyBuilder
from opbridge.base.errors import ToolchainError
key = KeyBuilder("test").add("name", "a key").key()
try:
    print(Cache(pathlib.Path(sys.argv[1])).fetch(key, lambda folder: Dependencies()).hit)
except ToolchainError as error:
    print(error)
"""


def test_the_package_is_asked_for_only_where_keys_are_named(
    tmp_path: Path, header: Path, shared: SharedCache, key: SigningKey
) -> None:
    published(tmp_path, header, shared, key)

    def said(node: str, **environment: str) -> str:
        return python(WITHOUT_THE_PACKAGE, str(tmp_path / node), env={**os.environ, **environment}).stdout

    assert said("one") == "True\n"
    assert said("two", **{KEYS: key.public}).startswith("keys of a shared cache need the package cryptography")
