"""The objects that one build uses from its first command to its last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from opbridge.base.progress import detail
from opbridge.build.cache import Cache
from opbridge.build.toolchains.compiler_processes import Compilers, Outcome
from opbridge.build.toolchains.interface import Command


@dataclass(frozen=True)
class BuildContext:
    """The cache, progress callback and compiler processes of one build."""

    cache: Cache
    progress: Callable[[str], None]
    compilers: Compilers

    def run(self, command: Command, folder: Path, scratch: Path) -> Outcome:
        """Run a command in `folder` and report it as progress when it starts."""
        return self.compilers.run(command, folder, scratch, lambda: self.tell(command.about))

    def tell(self, text: str) -> None:
        """Report the state of the build to the caller that asked for it, and to a user at a terminal."""
        detail(text)
        self.progress(text)
