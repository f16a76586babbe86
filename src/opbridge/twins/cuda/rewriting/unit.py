"""What the files of one translation unit tell each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opbridge.twins.common.columns import Columns
from opbridge.twins.common.rewriting import Included
from opbridge.twins.cuda.rewriting.harmless import Harmless

Namespace = tuple[str, ...]
"""The names of the namespaces around, from without."""


@dataclass
class Unit:
    """What the files of one translation unit tell each other."""

    include: Included = lambda name: None
    folders: Sequence[Path] = ()
    """Those of the project's headers."""
    kernel_words: set[str] = field(default_factory=lambda: {"__global__"})
    """Macros that stand for __global__ too."""
    device_words: set[str] = field(default_factory=lambda: {"__device__", "__global__"})
    host_words: set[str] = field(default_factory=lambda: {"__host__"})
    aot_functions: list[str] = field(default_factory=list)
    """What hosts on the CPU call: the functions with the plain C call."""
    kernels: set[str] = field(default_factory=set)
    """The names of __global__ functions, …"""
    functions: set[str] = field(default_factory=set)
    """… and of others, which may be the same."""
    device_functions: set[str] = field(default_factory=set)
    """Those of both that are not the host's, and are perhaps another source's."""
    own_functions: set[str] = field(default_factory=set)
    """Of functions with a body that are the device's alone, and no kernels; "operator" is any of these."""
    member_templates: set[str] = field(default_factory=set)
    """Of functions of classes that are templates themselves."""
    own_variables: set[str] = field(default_factory=set)
    opaque: set[str] = field(default_factory=set)
    """Macros that may be more than a number or a name."""
    shared_words: set[str] = field(default_factory=lambda: {"__shared__"})
    """Macros that stand for __shared__ too."""
    shared: dict[tuple[Namespace, str], str] = field(default_factory=dict)
    """What a function has to say first to use a __shared__ variable that is declared outside of all functions."""
    columns: dict[str, Columns] = field(default_factory=dict)
    """Of each file, for whoever reads what the compiler says of the result."""
    is_library: bool = False
    """What it does not use of a library may need what the twin lacks."""
    is_program: bool = False
    """It may be compiled a second time for its kernels alone, and says which functions are the host's."""
    is_image: bool = False
    """It is for devices alone, and says of each kernel that it is there."""
    has_cccl: bool = False
    """Whether Thrust, CUB and libcu++ are there to be included."""
    harmless: Harmless = field(default_factory=Harmless)
    waits: bool = False
    """A function may wait for other threads, in what was read so far."""
    count: int = 0

    def number(self) -> int:
        self.count += 1
        return self.count
