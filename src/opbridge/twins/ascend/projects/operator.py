"""An operator of a project, called on arrays: its tiling function runs, then its kernel in the twin."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from opbridge.base.errors import InputError, KernelError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, build
from opbridge.twins.ascend.projects import calls
from opbridge.twins.ascend.projects.definition import ELEMENT_TYPES, Definition
from opbridge.twins.ascend.projects.project_folder import KERNEL, Project

_REFUSALS = {
    1: "is not in the library",
    2: "has no such host function",
    3: "refuses these tensors and attributes: its host function returned no GRAPH_SUCCESS",
}


class Operator:
    """An operator of a project, whose kernel is built for each combination of element types on first use."""

    def __init__(self, project: Project, definition: Definition) -> None:
        self.project = project
        self.definition = definition
        self.kernel = project.kernel_of(definition)
        self.library = cache(self._library)

    def header(self, combination: int) -> str:
        """Return the header that a kernel is built with: the tiling structs and the element types."""
        lines = ["#pragma once", "#include <kernel_tiling/kernel_tiling.h>"]
        lines += [struct.text() for struct in self.project.structs]
        if self.definition.tiling:
            lines.append(f"using REGISTER_TILING_DEFAULT_names_the_struct = {self.definition.tiling};")
        lines += [f"#define DT_{one.name} {one.code}" for one in ELEMENT_TYPES]
        lines += ["#define FORMAT_ND 2"]
        for parameter, type in self.definition.types_of(combination):
            name = parameter.name.upper()
            lines.append(f"#define DTYPE_{name} {type.in_kernels}")
            lines.append(f"#define ORIG_DTYPE_{name} DT_{type.name}")
            lines.append(f"#define FORMAT_{name} FORMAT_ND")
        return "\n".join((*lines, ""))

    def request(self, combination: int) -> BuildRequest:
        """Return the build of the kernel for one combination of element types."""
        header = Cache().keep(f"{self.definition.name}_{combination}.h", self.header(combination))
        return BuildRequest(
            sources=(self.kernel,),
            output=f"{self.definition.name}_{combination}.so",
            include_dirs=(*self.project.include_dirs, *self.project.folders(KERNEL)),
            flags=("-include", str(header)),
            language="ascend-twin",
            root=self.project.folder,
        )

    def _library(self, combination: int) -> ctypes.CDLL:
        library = ctypes.CDLL(str(build(self.request(combination)).path))
        library.ob_ascend_attach_host()
        library.ob_ascend_take_reports.restype = ctypes.c_char_p
        return library

    def combination(self, arrays: Sequence[object]) -> int:
        """Return the combination of element types that the arrays have, inputs first, then outputs.

        Raises:
            InputError: The operator is not defined for these element types.
        """
        for number in range(self.definition.combinations):
            types = dict(self.definition.types_of(number))
            pairs = zip(self.definition.parameters, arrays, strict=True)
            if all(array is None or calls.element_type(array) in types[one].in_arrays for one, array in pairs):
                return number
        got = ", ".join("None" if array is None else calls.element_type(array) for array in arrays)
        raise InputError(f"{self.definition.type} is not defined for elements of {got}")

    def plan(self, arrays: Sequence[object], attributes: Mapping[str, object]) -> calls.Plan:
        """Call the tiling function and return its result: blocks, key, workspace and tiling.

        Raises:
            KernelError: The function rejects the arguments.
        """
        with calls.Call(self.definition, arrays, attributes, self.combination(arrays)) as call:
            plan = calls.Plan()
            self._check(self.project.library.ob_ascend_tile(ctypes.byref(call.whole), ctypes.byref(plan)))
            return plan

    def run(self, arrays: Sequence[Any], **attributes: Any) -> None:
        """Run the operator on arrays: the inputs, then the outputs, which the kernel writes.

        None represents an optional array that is left out.

        Raises:
            KernelError: The tiling function rejects the arguments, or the twin reports an error.
        """
        plan = self.plan(arrays, attributes)
        library = self.library(self.combination(arrays))
        workspace = ctypes.create_string_buffer(max(plan.workspace, 1))
        tiling = ctypes.create_string_buffer(bytes(plan.tiling)[: plan.tiling_bytes], max(plan.tiling_bytes, 1))
        memories = [calls.memory(array) for array in arrays]
        memories += [(ctypes.addressof(one), len(one)) for one in (workspace, tiling)]
        names = [one.name for one in self.definition.parameters] + ["the workspace", "the tiling"]
        library.ob_ascend_set_tiling_key(ctypes.c_uint64(plan.key))
        for (address, size), name in zip(memories, names, strict=True):
            library.ob_ascend_adopt(ctypes.c_void_p(address), ctypes.c_uint64(size), name.encode())
        try:
            launch = getattr(library, f"aclrtlaunch_{self.definition.name}")
            launch(plan.blocks, None, *(ctypes.c_void_p(address) for address, _ in memories))
            reports = library.ob_ascend_take_reports()
        finally:
            for address, _ in memories:
                library.ob_ascend_release(ctypes.c_void_p(address))
        if reports:
            raise KernelError(f"{self.definition.type}: {reports.decode().rstrip()}")

    def _check(self, status: int) -> None:
        if status:
            raise KernelError(f"{self.definition.type} {_REFUSALS[status]}")
