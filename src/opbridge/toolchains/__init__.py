"""Compilers, one module each that implements the `Toolchain` protocol, and cached builds of shared libraries."""

from __future__ import annotations

from opbridge.toolchains.builder import begin, build, build_many, precompile
from opbridge.toolchains.model import INCLUDE, BuildRequest, BuiltLibrary, Command, Commands, Toolchain
from opbridge.toolchains.table import TOOLCHAINS, toolchain_for

__all__ = [
    "INCLUDE",
    "TOOLCHAINS",
    "BuildRequest",
    "BuiltLibrary",
    "Command",
    "Commands",
    "Toolchain",
    "begin",
    "build",
    "build_many",
    "precompile",
    "toolchain_for",
]
