"""The entry point of `python -m opbridge`, for when the script is not on PATH."""

from __future__ import annotations

import sys

from opbridge.cli import main

sys.exit(main())
