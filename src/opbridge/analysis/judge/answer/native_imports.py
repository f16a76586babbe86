"""Examine a native library of an answer before it is loaded, by the functions that it needs from others.

C++ can write a name in parts, by macros and assembler labels; the linker needs it as it is.
"""

from __future__ import annotations

import re
from pathlib import Path

from opbridge.analysis.judge.judgement import TO_COMPUTE
from opbridge.base.errors import InputError, KernelError
from opbridge.build.sources.elf import read_library

_REFUSED = re.compile(
    r"dlv?sym|dlm?open|dlclose|dladdr1?|dlinfo|dl_iterate_phdr|_dl_\w+|_r_debug|__libc_dl\w+"
    r"|(?:pkey_)?mprotect|pkey_\w+|mremap|remap_file_pages|process_madvise|memfd_\w+|syscall"
    r"|ptrace|process_vm_\w+|prctl|arch_prctl|personality|modify_ldt|sigaction|__sigaction|signal|bsd_signal|sigaltstack"
    r"|v?fork|_Fork|clone3?|__clone|exec(?:v|ve|vp|vpe|l|le|lp|veat)|fexecve|posix_spawnp?|system|popen|kill|tgkill"
    r"|ob_twin_take_\w+|ob_twin_leaves_\w+|ob_ascend_mute|ob_ascend_take_reports|ob_ascend_attach_host"
    r"|_ZNK?2at(?:6native|3cpu|4meta|31compositeexplicit|27compositeimplicit)\w*"
    r"|_ZN2at\d+(?:enableRecordFunction|set_record_function_tls_|clear(?:Global|ThreadLocal)?Callbacks)\w*"
    r"|_ZN2at\d+(?:remove|disable|reenable|addGlobal|addThreadLocal)Callback\w*"
    r"|PySys_AddAuditHook|PyImport_GetModuleDict"
)
"""Functions that reach the memory, code or records of others: no extension that only computes needs one."""
_BY_NAME = re.compile(r"dlopen|dlsym")
"""Functions that find others by name, as the header does by which an answer for an NPU calls its operators."""


class RefusedCodeError(InputError):
    """A native library needs functions that would change what the judge sees."""


def check_imports(path: str, may_find_by_name: bool = False) -> None:
    """Raise RefusedCodeError if a library needs a function that no answer may call; ignore other files."""
    try:
        needed = read_library(path).undefined
    except KernelError:
        return  # the loader says what is wrong with it
    allowed = {name for name in needed if may_find_by_name and _BY_NAME.fullmatch(name)}
    if found := sorted(filter(_REFUSED.fullmatch, set(needed) - allowed)):
        raise RefusedCodeError(
            f"{Path(path).name} calls {', '.join(found[:3])}, which reaches what records it",
            hint=TO_COMPUTE,
        )
