"""What may be in the place of a file, or of a folder, by accident or somebody's design."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def folder(path: Path) -> None:
    path.mkdir()


def fifo(path: Path) -> None:
    os.mkfifo(path)


def link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket has 108 bytes at most
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path.name)
    finally:
        os.chdir(here)


def nothing_in_it(path: Path) -> None:
    path.touch()


def bad_bytes(path: Path) -> None:
    path.write_bytes(b"\xff\x00" * 40)


def without_end(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


ANYTHING = (folder, fifo, link_to_itself, link_to_a_device, a_socket, nothing_in_it, bad_bytes)
