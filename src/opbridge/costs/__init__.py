"""Compute the cost of a kernel: counters of the CUDA twin's accesses, by line, and the predictions for a chip."""

from __future__ import annotations

from opbridge.costs.chips import CHIPS, Chip, chip_named
from opbridge.costs.model import KernelCost, LineCost, Profile
from opbridge.costs.profiling import profile, profile_command

__all__ = ["CHIPS", "Chip", "KernelCost", "LineCost", "Profile", "chip_named", "profile", "profile_command"]
