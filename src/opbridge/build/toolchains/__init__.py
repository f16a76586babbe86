"""Compilers, one module each that implements the `Toolchain` protocol, and cached builds of shared libraries."""

from __future__ import annotations

from opbridge.build.toolchains.builder import begin, build, build_many, precompile
from opbridge.build.toolchains.interface import INCLUDE, BuildRequest, BuiltLibrary, Command, Commands, Toolchain
from opbridge.build.toolchains.table import TOOLCHAINS, toolchain_for

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
