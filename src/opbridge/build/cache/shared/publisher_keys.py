"""The keys of publishers: Ed25519, from the package cryptography, which is imported only if a key is used.

The private key is a PEM file as openssl writes it. The public key is one word: `ed25519:` and 32 bytes in
base64.
"""

from __future__ import annotations

import base64
import binascii
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opbridge.base.errors import InputError, ToolchainError
from opbridge.base.safe_open import open_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEYS = "OPBRIDGE_SHARED_CACHE_KEYS"
SIGNATURE_BYTES = 64
_KIND = "ed25519:"
_PURPOSE = b"seal of opbridge's shared cache\n"
"""The prefix of signed content: a signature made for another purpose must not be valid here."""


@dataclass(frozen=True)
class SigningKey:
    """A private key that signs what is published."""

    private: Ed25519PrivateKey

    @classmethod
    def make(cls, path: Path) -> SigningKey:
        """Create a key and write it to a new file that only this user may read.

        Raises:
            InputError: The file exists or cannot be written.
        """
        _import_cryptography()
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        key = Ed25519PrivateKey.generate()
        text = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        try:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(text)
        except OSError as error:
            raise InputError(f"cannot write the key {path}: {error.strerror}") from None
        return cls(key)

    @classmethod
    def read(cls, path: Path) -> SigningKey:
        """Read a key from a file.

        Raises:
            InputError: The file is missing, accessible to other users, or not an Ed25519 key without a password.
        """
        _import_cryptography()
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            with open(open_file(path), "rb") as file:
                mode, text = stat.S_IMODE(os.fstat(file.fileno()).st_mode), file.read()
        except OSError as error:
            hint = f"make one: opbridge cache key {path}" if isinstance(error, FileNotFoundError) else ""
            raise InputError(f"cannot read the key {path}: {error.strerror}", hint=hint) from None
        if mode & 0o077:
            hint = f"close it: chmod 600 {path}; if others may have read it, make another one"
            raise InputError(f"the key {path} has mode {mode:o}: others may read or replace it", hint=hint)
        try:
            key = load_pem_private_key(text, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise InputError(f"{path} is not a private key that can be read: {error}", hint=_HOW) from None
        if not isinstance(key, Ed25519PrivateKey):
            raise InputError(f"the key {path} is of another kind; expected Ed25519", hint=_HOW)
        return cls(key)

    @property
    def public(self) -> str:
        """The public key as OPBRIDGE_SHARED_CACHE_KEYS expects it."""
        return _KIND + base64.b64encode(self.private.public_key().public_bytes_raw()).decode()

    def sign(self, content: bytes) -> bytes:
        """Return the signature of the content."""
        signature: bytes = self.private.sign(_PURPOSE + content)
        return signature


_HOW = "expected one without a password, as `opbridge cache key FILE` and `openssl genpkey -algorithm ed25519` make"


def keys_named() -> tuple[str, ...]:
    """Return the public keys in OPBRIDGE_SHARED_CACHE_KEYS; empty if the variable is not set.

    Raises:
        InputError: The variable is set but empty, or contains an invalid key.
    """
    text = os.environ.get("OPBRIDGE_SHARED_CACHE_KEYS")
    if text is None:
        return ()
    words = tuple(text.replace(",", " ").split())
    if not words:
        # The user asked for keys, so continuing without any would be unsafe.
        raise InputError(f"{KEYS} is set and names no key", hint=f"name one, or unset {KEYS}")
    for word in words:
        _public_bytes(word)
    return words


def is_signed(content: bytes, signature: bytes, keys: tuple[str, ...]) -> bool:
    """Return whether one of these public keys made the signature."""
    _import_cryptography()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    for key in keys:
        with suppress(InvalidSignature):
            Ed25519PublicKey.from_public_bytes(_public_bytes(key)).verify(signature, _PURPOSE + content)
            return True
    return False


def _public_bytes(word: str) -> bytes:
    with suppress(binascii.Error, ValueError):
        content = base64.b64decode(word.removeprefix(_KIND), validate=True)
        if word.startswith(_KIND) and len(content) == 32:
            return content
    hint = "expected words such as `opbridge cache key FILE` prints: ed25519: and 44 letters, with commas between them"
    raise InputError(f"{KEYS} names {word!r}, which is not a public key", hint=hint)


def _import_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError as error:
        raise ToolchainError(
            "keys of a shared cache need the package cryptography, which is not installed\n"
            "  install it: pip install cryptography"
        ) from error
