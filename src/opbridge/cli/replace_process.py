"""Replace this process by another command."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from opbridge.base.errors import InputError


def become(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Replace this process by the command, so that signals, terminal and exit code are its own.

    A Python script is run with this Python.

    Raises:
        InputError: The command cannot be run.
    """
    words = [*([sys.executable] if command[0].endswith(".py") else []), *command]
    sys.stdout.flush()
    try:
        os.execvpe(words[0], words, variables)
    except OSError as error:
        raise InputError(f"cannot run {words[0]}: {error.strerror}") from None
