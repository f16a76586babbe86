"""A project as msopgen makes it: what it defines is read by running it, and its operator runs as its host plans it.

Builds the project of the folder scaled_sum: its host library, and a kernel for each of two element types.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.subprocesses import succeed

from opbridge.base.errors import InputError, KernelError
from opbridge.twins.ascend.projects import Attribute, Operator, Project, TilingStruct, read_project

FOLDER = Path(__file__).parent / "scaled_sum"


@pytest.fixture(scope="module")
def project() -> Project:
    return read_project(FOLDER)


@pytest.fixture(scope="module")
def operator(project: Project) -> Operator:
    return Operator(project, project.definitions[0])


def test_a_definition_is_what_its_constructor_says(project: Project) -> None:
    (definition,) = project.definitions
    assert (definition.type, definition.name, definition.tiling) == ("ScaledSum", "scaled_sum", "ScaledSumTilingData")
    assert [(one.name, one.is_optional) for one in definition.parameters] == [("x", False), ("y", True), ("z", False)]
    assert [type.name for type in definition.inputs[0].types] == ["FLOAT", "FLOAT16"]
    assert definition.attributes == (Attribute("factor", "float", "1.5"),)
    assert definition.chips == ("ascend910b",)


def test_the_kernel_is_given_the_structs_of_the_host(project: Project, operator: Operator) -> None:
    assert project.structs == (
        TilingStruct("ScaledSumShare", (("uint32_t", "perCore", 0), ("uint32_t", "tail", 2))),
        TilingStruct(
            "ScaledSumTilingData", (("uint32_t", "total", 0), ("ScaledSumShare", "share", 0), ("float", "factor", 0))
        ),
    )
    header = operator.header(1)
    assert "struct ScaledSumShare {\n  uint32_t perCore;\n  uint32_t tail[2];\n};" in header
    assert "#define DTYPE_Z half\n#define ORIG_DTYPE_Z DT_FLOAT16\n" in header


@pytest.mark.matrix("build/toolchains/test_isolated_variables.py links two libraries with such variables, of plain C++")
def test_two_projects_have_global_objects_of_one_name(tmp_path: Path) -> None:
    """As by a header that both include: the process that had read both was aborted at its end."""
    for name in ("a", "b"):
        shutil.copytree(FOLDER, tmp_path / name)
        host = tmp_path / name / "op_host" / "scaled_sum.cpp"
        host.write_text(f"#include <map>\ninline std::map<int, int> kSizes = {{{{0, 4}}}};\n{host.read_text()}")
    succeed(
        "import sys\nfrom pathlib import Path\nfrom opbridge.twins.ascend.projects import read_project\n"
        "for folder in sys.argv[1:]: assert len(read_project(Path(folder)).definitions) == 1",
        *(str(tmp_path / name) for name in ("a", "b")),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("count", [5, 1000])
def test_it_runs_as_its_host_plans_it(operator: Operator, dtype: type, count: int) -> None:
    x, y = np.arange(count).astype(dtype), np.ones(count, dtype)
    z = np.zeros_like(x)
    assert operator.plan([x, y, z], {}).blocks == (1 if count == 5 else 4)
    operator.run([x, y, z], factor=0.5)
    np.testing.assert_array_equal(z, x * dtype(0.5) + y)
    operator.run([x, None, z])
    np.testing.assert_array_equal(z, x * dtype(1.5))


def test_bounds_are_those_of_the_arrays(operator: Operator) -> None:
    with pytest.raises(KernelError, match=r"(?s)write of 80 bytes out of .*byte 0 of the 40 bytes of z"):
        operator.run([np.ones(20, np.float32), None, np.zeros(10, np.float32)])


def test_what_the_host_refuses_is_an_error(operator: Operator) -> None:
    scalar = np.array(1, np.float32)
    with pytest.raises(KernelError, match="ScaledSum refuses these tensors and attributes"):
        operator.run([scalar, None, scalar])


def test_a_wrong_call_is_told_of(operator: Operator) -> None:
    x = np.ones(8, np.float32)
    with pytest.raises(InputError, match="ScaledSum has no attribute 'factr'"):
        operator.run([x, None, x], factr=1)
    with pytest.raises(InputError, match="ScaledSum is not defined for elements of f8, None, f8"):
        operator.run([x.astype(float), None, x.astype(float)])


def test_a_folder_without_a_project_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not an operator project: there is no C\\+\\+ source in a folder op_host"):
        read_project(tmp_path)


def test_an_operator_without_a_kernel_of_its_name_is_told_of(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FOLDER, tmp_path / "project"))
    (folder / "op_kernel" / "scaled_sum.cpp").rename(folder / "op_kernel" / "sum.cpp")
    project = read_project(folder)
    with pytest.raises(InputError, match=r"(?s)expected one scaled_sum.cpp .* the kernels are op_kernel/sum.cpp"):
        Operator(project, project.definitions[0])
