"""The C++ interface of a project's operators: the two phases of aclnn, and an opbridge kernel for each operator."""

from __future__ import annotations

import re
from collections.abc import Sequence

from opbridge.twins.ascend.projects.definition import Definition, Parameter
from opbridge.twins.ascend.projects.signature import Signature

_ACLNN = {
    "int": "int64_t {}",
    "float": "double {}",
    "bool": "bool {}",
    "str": "char* {}",
    "int[]": "const aclIntArray* {}",
    "float[]": "const aclFloatArray* {}",
    "bool[]": "const aclBoolArray* {}",
}
_OPBRIDGE = {
    "int": "int64_t",
    "float": "double",
    "bool": "bool",
    "str": "ob::String",
    "int[]": "ob::Ints",
    "float[]": "ob::Floats",
    "bool[]": "ob::Bools",
}

LIBRARY = "libcust_opapi.so"


def kernel_library(definition: Definition, combination: int) -> str:
    """Return the file name of the kernel library for one combination of element types."""
    return f"{definition.name}_{combination}.so"


def symbol(definition: Definition) -> str:
    """Return the name of the function that opbridge calls."""
    return f"opbridge_{definition.name}"


def header(definition: Definition) -> str:
    """Return the text of aclnn_NAME.h, which C++ programs include."""
    guard = f"ACLNN_{definition.name.upper()}_H"
    return (
        f"// Written by opbridge twin op.\n#ifndef {guard}\n#define {guard}\n\n#include <aclnn/acl_meta.h>\n\n"
        '#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
        f"{_first_phase(definition)};\n\n{_second_phase(definition)};\n\n"
        "#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
    )


def source(signatures: Sequence[Signature]) -> str:
    """Return the source of the library, which is linked with the project's host functions."""
    names = (f'#include "aclnn_{one.definition.name}.h"' for one in signatures)
    parts = ("#include <opbridge_ascend/host/operator.h>", *names, "", "using namespace opbridge_ascend;")
    return "\n".join((*parts, *(_operator(one) for one in signatures)))


def _operator(signature: Signature) -> str:
    definition = signature.definition
    return "\n".join(
        (
            f"\nnamespace {{\n{_table(definition)}}}  // namespace\n",
            f"{_first_phase(definition, exported=True)} {{\n{_planning(definition)}}}\n",
            f"{_second_phase(definition, exported=True)} {{",
            f'  return run_planned("aclnn{definition.type}", workspace, workspaceSize, executor);\n}}\n',
            _at_once(signature),
        )
    )


def _table(definition: Definition) -> str:
    count = len(definition.parameters) + 2
    start = f"start_{definition.name}"
    types = ", ".join(["uint32_t", *["void*"] * (count + 1)])
    passed = ", ".join(f"a[{index}]" for index in range(count))
    builds = ", ".join(
        f"{{{{{', '.join(str(type.code) for _, type in definition.types_of(one))}}}, "
        f'"{kernel_library(definition, one)}"}}'
        for one in range(definition.combinations)
    )
    names = ", ".join(f'"{one.name}"' for one in definition.parameters)
    return (
        f"uint32_t {start}(void* launch, uint32_t blocks, void* const* a) {{\n"
        f"  return reinterpret_cast<uint32_t (*)({types})>(launch)(blocks, nullptr, {passed});\n}}\n"
        f"const ProjectOperator {_constant(definition)}{{\n"
        f'    "{definition.type}", "aclrtlaunch_{definition.name}", {{{names}}}, {start}, {{{builds}}}}};\n'
    )


def _constant(definition: Definition) -> str:
    return f"operator_{definition.name}"


def _first_phase(definition: Definition, exported: bool = False) -> str:
    taken = [f"const aclTensor* {_spelled(definition, one)}" for one in definition.inputs]
    taken += [_ACLNN[one.type].format(_camel(one.name)) for one in definition.attributes]
    taken += [f"const aclTensor* {_camel(one.name)}" for one in definition.outputs if one not in definition.in_place]
    taken += ["uint64_t* workspaceSize", "aclOpExecutor** executor"]
    return f"{_exported(exported)}aclnnStatus aclnn{definition.type}GetWorkspaceSize({', '.join(taken)})"


def _second_phase(definition: Definition, exported: bool = False) -> str:
    stream = "aclrtStream" if exported else "aclrtStream stream"
    taken = f"void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, {stream}"
    return f"{_exported(exported)}aclnnStatus aclnn{definition.type}({taken})"


def _exported(yes: bool) -> str:
    return 'extern "C" __attribute__((visibility("default"))) ' if yes else ""


def _planning(definition: Definition) -> str:
    lines = [f'  TwoPhases call({_constant(definition)}, "aclnn{definition.type}GetWorkspaceSize");']
    for one in definition.inputs:
        name = _spelled(definition, one)
        lines.append(f'  call.{"optional" if one.is_optional else "required"}("{name}", {name});')
    for attribute in definition.attributes:
        name = _camel(attribute.name)
        value = f"static_cast<const char*>({name})" if attribute.type == "str" else name
        lines.append(f"  call.attribute({value});")
    for one in definition.outputs:
        name = _spelled(definition, one)
        lines.append(f'  call.output("{name}", {name});')
    return "\n".join((*lines, "  return call.plan(workspaceSize, executor);", ""))


def _at_once(signature: Signature) -> str:
    definition = signature.definition
    taken = [f"ob::{role} {_inside(one)}" for one, role in signature.tensors]
    taken += [f"{_OPBRIDGE[one.type]} a_{one.name}" for one in definition.attributes]
    lines = [f"  OperatorCall call({_constant(definition)});"]
    lines += [f"  pass_input(call, {_inside(one)});" for one in definition.inputs]
    lines += [f"  pass_attribute(call, a_{one.name});" for one in definition.attributes]
    lines += [f"  pass_output(call, {_inside(one)});" for one in definition.outputs]
    body = "\n".join((*lines, "  run_at_once(call);"))
    name = symbol(definition)
    return f"static void {name}({', '.join(taken)}) {{\n{body}\n}}\nOB_KERNEL({name})\n"


def _inside(parameter: Parameter) -> str:
    return f"a_{parameter.name}"


def _spelled(definition: Definition, parameter: Parameter) -> str:
    """Return a parameter's name as the vendor's generator spells it: `Optional` or `Ref` is appended."""
    if any(parameter.name == one.name for one in definition.in_place):
        return f"{_camel(parameter.name)}Ref"
    return f"{_camel(parameter.name)}{'Optional' if parameter.is_optional else ''}"


def _camel(name: str) -> str:
    return re.sub(r"_+([A-Za-z0-9])", lambda found: found[1].upper(), name)
