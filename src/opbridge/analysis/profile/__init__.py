"""Compute the cost of a kernel: counters of the CUDA twin's accesses, by line, and the predictions for a chip."""

from __future__ import annotations

from opbridge.analysis.profile.chips import CHIPS, Chip, chip_named
from opbridge.analysis.profile.profile_contents import KernelCost, LineCost, Profile
from opbridge.analysis.profile.profiled_process import profile, profile_command

__all__ = ["CHIPS", "Chip", "KernelCost", "LineCost", "Profile", "chip_named", "profile", "profile_command"]
