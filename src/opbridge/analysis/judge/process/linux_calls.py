"""Call the C library for what confines a process, and say which machine refuses it."""

from __future__ import annotations

import ctypes
import os

from opbridge.base.errors import UnsupportedError

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    """Raise UnsupportedError if a call failed."""
    if result < 0:
        reason = os.strerror(ctypes.get_errno())
        raise UnsupportedError(
            f"an answer cannot be confined on this machine, which refuses {what}: {reason}\n"
            "  judge needs Linux 5.13 or newer with Landlock and with namespaces for users "
            "(sysctl kernel.unprivileged_userns_clone=1; docker run --security-opt seccomp=unconfined)"
        )
