"""opbridge twin: run unmodified programs for an accelerator on the CPU; one module per subcommand."""

from __future__ import annotations

from opbridge.cli.subcommands import Subcommands

_subcommands = Subcommands("twin")
add_arguments = _subcommands.add_arguments
run = _subcommands.run
