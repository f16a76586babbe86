"""opbridge port: from one accelerator to another; one module per subcommand."""

from __future__ import annotations

from opbridge.cli.subcommands import Subcommands

_subcommands = Subcommands("port")
add_arguments = _subcommands.add_arguments
run = _subcommands.run
