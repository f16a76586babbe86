"""Operator projects as msopgen creates them: folders `op_host` and `op_kernel`, read by running their definitions."""

from opbridge.sources.ascend.project.definition import Attribute, Definition, Parameter, TilingStruct
from opbridge.sources.ascend.project.operator import Operator
from opbridge.sources.ascend.project.reading import Project, read_project

__all__ = ["Attribute", "Definition", "Operator", "Parameter", "Project", "TilingStruct", "read_project"]
