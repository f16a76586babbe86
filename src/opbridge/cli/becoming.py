"""A command that takes the place of ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from opbridge.errors import InputError


def become(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Its signals, its terminal and its exit code are its own; a Python script is run by this Python."""
    words = [*([sys.executable] if command[0].endswith(".py") else []), *command]
    sys.stdout.flush()
    try:
        os.execvpe(words[0], words, variables)
    except OSError as error:
        raise InputError(f"cannot run {words[0]}: {error.strerror}") from None
