"""The state that the files of one translation unit share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opbridge.twins.common.message_columns import Columns
from opbridge.twins.common.rewritten_sources import Included
from opbridge.twins.cuda.rewriting.independent_threads import Harmless

Namespace = tuple[str, ...]
"""The names of the enclosing namespaces, outermost first."""


@dataclass
class Unit:
    """The state that the files of one translation unit share."""

    include: Included = lambda name: None
    folders: Sequence[Path] = ()
    """The include folders of the project."""
    kernel_words: set[str] = field(default_factory=lambda: {"__global__"})
    """The words for __global__, including macros."""
    device_words: set[str] = field(default_factory=lambda: {"__device__", "__global__"})
    host_words: set[str] = field(default_factory=lambda: {"__host__"})
    aot_functions: list[str] = field(default_factory=list)
    """The functions with the plain C call, which hosts on the CPU call."""
    kernels: set[str] = field(default_factory=set)
    """The names of __global__ functions."""
    functions: set[str] = field(default_factory=set)
    """The names of other functions, which may be the same."""
    device_functions: set[str] = field(default_factory=set)
    """The names of both kinds that belong to the device, possibly to another source."""
    host_functions: set[str] = field(default_factory=set)
    """The names of functions that are defined for the host alone."""
    own_functions: set[str] = field(default_factory=set)
    """The names of defined device-only functions that are not kernels; "operator" is any operator."""
    member_templates: set[str] = field(default_factory=set)
    """The names of member functions that are templates."""
    own_variables: set[str] = field(default_factory=set)
    opaque: set[str] = field(default_factory=set)
    """Macros that may expand to more than a number or a name."""
    shared_words: set[str] = field(default_factory=lambda: {"__shared__"})
    """The words for __shared__, including macros."""
    shared: dict[tuple[Namespace, str], str] = field(default_factory=dict)
    """The declaration that a function needs to use a __shared__ variable declared outside of all functions."""
    columns: dict[str, Columns] = field(default_factory=dict)
    """The column mapping of each file, for messages about the result."""
    is_library: bool = False
    """Whether the unit is a library, whose unused parts may need what the twin lacks."""
    is_program: bool = False
    """Whether the unit may be compiled again for its kernels alone, and so must mark host functions."""
    is_image: bool = False
    """Whether the unit is for devices alone, and so must register each kernel."""
    has_cccl: bool = False
    """Whether Thrust, CUB and libcu++ are installed."""
    harmless: Harmless = field(default_factory=Harmless)
    waits: bool = False
    """Whether a function that was read so far may wait for other threads."""
    count: int = 0

    def number(self) -> int:
        """Return a number that is unique in the unit."""
        self.count += 1
        return self.count
