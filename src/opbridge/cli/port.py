"""opbridge port: from one accelerator to another; one module per subcommand."""

from __future__ import annotations

from opbridge.cli.subcommands import Subcommands

_SUBCOMMANDS = Subcommands(
    "port", {"check": "run a CUDA kernel and its port to Ascend C on the same inputs, and say where they part"}
)
add_arguments = _SUBCOMMANDS.add_arguments
run = _SUBCOMMANDS.run
