"""Refuse the system calls that no answer needs: to reach other processes, mount, trace, and load code into the kernel.

A seccomp filter is a program for the kernel's packet filter (see seccomp(2)); it sees numbers and arguments of calls,
not what pointers lead to. So sockets of AF_UNIX are refused when they are made, not when they connect.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from opbridge.analysis.judge.process.linux_calls import check, libc

_COMMON = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
}
_NAMES = (
    *("ptrace", "mount", "umount2", "pivot_root", "chroot", "keyctl", "add_key", "request_key", "bpf", "userfaultfd"),
    *("perf_event_open", "process_vm_readv", "process_vm_writev", "kcmp", "kexec_load", "kexec_file_load"),
    *("init_module", "finit_module", "delete_module", "open_by_handle_at", "unshare", "setns", "reboot"),
)
_NUMBERS = {
    "x86_64": (
        *(101, 165, 166, 155, 161, 250, 248, 249, 321, 323),
        *(298, 310, 311, 312, 246, 320),
        *(175, 313, 176, 304, 272, 308, 169),
    ),
    "aarch64": (
        *(117, 40, 39, 41, 51, 219, 217, 218, 280, 282),
        *(241, 270, 271, 272, 104, 294),
        *(105, 273, 106, 265, 97, 268, 142),
    ),
}
_MACHINES = {"x86_64": (0xC000003E, 41, 56), "aarch64": (0xC00000B7, 198, 220)}
"""The machine's number, and its numbers for `socket` and `clone`."""
_CLONE3 = 435
_UNIX = 1
_NEW_NAMESPACES = 0x7E020000
_FIRST_OF_X32 = 0x40000000

_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_SET_SECCOMP, _FILTER = 22, 2


def refuse_calls() -> None:
    """Refuse them to the calling process and all that it will start; it needs PR_SET_NO_NEW_PRIVS before.

    Raises:
        UnsupportedError: This machine has no seccomp filters.
    """
    machine = os.uname().machine
    check(0 if machine in _MACHINES else -1, f"seccomp filters for {machine}")
    program = b"".join(_program(machine))
    kept = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(kept))
    check(libc.prctl(_SET_SECCOMP, _FILTER, header, 0, 0), "seccomp filters")


def _program(machine: str) -> list[bytes]:
    number, socket, clone = _MACHINES[machine]
    refused = [*_NUMBERS[machine], *_COMMON.values()]
    return [
        _step(_LOAD, _MACHINE),
        _step(_IF_EQUAL, number, yes=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        *_fail_if(_IF_AT_LEAST, _FIRST_OF_X32),
        *(step for each in refused for step in _fail_if(_IF_EQUAL, each)),
        *_fail_if(_IF_EQUAL, _CLONE3, errno.ENOSYS),  # the C library takes `clone`, whose flags can be seen
        *_fail_for_argument(socket, _IF_EQUAL, _UNIX),
        *_fail_for_argument(clone, _IF_ANY_BIT, _NEW_NAMESPACES),
        _step(_RETURN, _ALLOW),
    ]


def _fail_if(test: int, value: int, error: int = errno.EPERM) -> list[bytes]:
    return [_step(test, value, no=1), _step(_RETURN, _FAIL | error)]


def _fail_for_argument(call: int, test: int, value: int) -> list[bytes]:
    """Refuse a call for some first arguments; the number of the call is loaded before and afterwards."""
    return [
        _step(_IF_EQUAL, call, no=4),
        _step(_LOAD, _FIRST_ARGUMENT),
        *_fail_if(test, value),
        _step(_LOAD, _NUMBER),
    ]


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
