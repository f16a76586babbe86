"""Operator projects as msopgen creates them: folders `op_host` and `op_kernel`, read by running their definitions."""

from opbridge.twins.ascend.projects.definition import Attribute, Definition, Parameter, TilingStruct
from opbridge.twins.ascend.projects.operator import Operator
from opbridge.twins.ascend.projects.project_folder import Project, read_project

__all__ = ["Attribute", "Definition", "Operator", "Parameter", "Project", "TilingStruct", "read_project"]
