"""The initial Helpers.h of a backend: names in `gen_opapi` that neither C++ nor PyTorch defines, still to be written.

The declarations there compile wherever they are used. A call of one reports that it is not written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from opbridge.codegen.backend import BackendOperator, OpapiCall, TargetBackend
from opbridge.codegen.expressions import QualifiedName, qualified_names
from opbridge.codegen.unboxed_types import wrapped

_OF_PYTORCH = frozenset({"at", "c10", "caffe2", "std", "torch"})
_FOUND_BY_ARGUMENT = frozenset(
    {"canCast", "elementSize", "isBarebonesUnsignedType", "isBitsType", "isComplexType", "isFloat8Type"}
    | {"isFloatingType", "isIntegralType", "isQIntType", "isReducedFloatingType", "isSignedType", "promoteTypes"}
    | {"result_type", "toComplexType", "toRealValueType", "toString", "typeMetaToScalarType"}
)
"""PyTorch functions that C++ finds without their namespace, by the types of their arguments."""
_PART_OF_TUPLE = re.compile(r"std::get<(?P<index>\d+)>\(\s*(?P<name>[A-Za-z_][\w:]*)")
_SIZES, _DTYPE, _TEXT, _ANY = "c10::SmallVector<int64_t, 8>", "at::ScalarType", "std::string", "Unwritten"


@dataclass
class _Helper:
    """A name that still needs a definition."""

    name: str
    operators: list[str] = field(default_factory=list)
    """The operators whose expressions use it."""
    types: set[str] = field(default_factory=set)
    """The types in which its value is used."""
    arguments: int | None = None
    is_parameter_of_template: bool = False
    parts: int = 0
    """The number of values in the tuple that it returns, if expressions take it apart."""


def helpers_of(operator: BackendOperator, launch: OpapiCall) -> Iterator[tuple[QualifiedName, str]]:
    """Yield the unexplained names in a kernel's expressions, and the type in which each value is used."""
    own = {argument.name for argument in operator.schema.arguments} | {name for name, _ in launch.variables}
    own |= {output.name for output in launch.outputs}
    for text, type_ in _expressions(launch):
        for found in qualified_names(text):
            root, qualified, _ = found.name.partition("::")
            is_known = root in _OF_PYTORCH or (not qualified and (root in _FOUND_BY_ARGUMENT or root in own))
            if not is_known and (qualified or found.arguments is not None):
                yield found, _taken_for(found, type_)


def _expressions(launch: OpapiCall) -> Iterator[tuple[str, str]]:
    sizes = [output.size for output in launch.outputs if output.size]
    dtypes = [output.dtype for output in launch.outputs if output.dtype]
    yield from ((text, _SIZES) for text in sizes)
    yield from ((text, _DTYPE) for text in dtypes)
    texts = [text for _, text in launch.variables]
    for name, text in launch.variables:
        is_text = any(f"{name}.c_str()" in other for other in texts)
        yield text, _SIZES if name in sizes else _DTYPE if name in dtypes else _TEXT if is_text else _ANY
    yield from ((text, _ANY) for text in launch.arguments)


def _taken_for(found: QualifiedName, type_: str) -> str:
    if found.after.startswith("?"):
        return "bool"
    if found.after.startswith(".c_str("):
        return _TEXT
    if found.after.startswith("["):
        return f"std::vector<{type_}>"
    return type_ if found.is_outermost else _ANY


def helpers_header(target: TargetBackend, launched: Iterable[tuple[BackendOperator, OpapiCall]]) -> str:
    """Return the text of Helpers.h; empty if every name is known."""
    helpers = _helpers(launched)
    if not helpers:
        return ""
    text = _START
    by_namespace: dict[str, list[_Helper]] = {}
    for helper in helpers:
        by_namespace.setdefault(helper.name.rpartition("::")[0] or target.cpp_namespace, []).append(helper)
    for namespace, those in by_namespace.items():
        within = "" if namespace == target.cpp_namespace else f"{target.cpp_namespace}::"
        declared = "".join(_declared(helper, within) for helper in those)
        text += f"\nnamespace {namespace} {{\n\n{declared}}}  // namespace {namespace}\n"
    return text.replace("@NAMESPACE@", target.cpp_namespace)


def _helpers(launched: Iterable[tuple[BackendOperator, OpapiCall]]) -> list[_Helper]:
    helpers: dict[str, _Helper] = {}
    for operator, launch in launched:
        for found, type_ in helpers_of(operator, launch):
            helper = helpers.setdefault(found.name, _Helper(found.name))
            helper.types.add(type_)
            if found.arguments is not None:
                helper.arguments = max(helper.arguments or 0, found.arguments)
            helper.is_parameter_of_template |= found.before.endswith((",", "<")) and found.after.startswith(">")
            helper.operators += [operator.name] if operator.name not in helper.operators else []
        for name, parts in _taken_apart(launch):
            if name in helpers:
                helpers[name].parts = max(helpers[name].parts, parts)
    return [helpers[name] for name in sorted(helpers)]


def _taken_apart(launch: OpapiCall) -> Iterator[tuple[str, int]]:
    """Yield the functions whose results expressions take apart, perhaps through a variable."""
    called = {name: found.name for name, text in launch.variables for found in [*qualified_names(text)][:1]}
    for text, _ in _expressions(launch):
        for match in _PART_OF_TUPLE.finditer(text):
            yield called.get(match["name"], match["name"]), int(match["index"]) + 1


def _declared(helper: _Helper, within: str) -> str:
    name = helper.name.rpartition("::")[2]
    shown = ", ".join(helper.operators[:4]) + (" and others" if len(helper.operators) > 4 else "")
    note = f"// For {shown}.\n"
    if helper.is_parameter_of_template:
        return f"{note}constexpr unsigned {name} = 8;\n\n"
    unwritten = f'{within}Unwritten{{"{helper.name}"}}'
    if helper.arguments is None:
        return f"{note}inline constexpr {within}Unwritten {name} = {unwritten};\n\n"
    known = helper.types - {_ANY}
    result = next(iter(known)) if len(known) == 1 else within + _ANY
    if helper.parts:
        result = f"std::tuple<{', '.join([within + _ANY] * helper.parts)}>"
    head = wrapped(f"inline {result} {name}(", [f"{within}Anything = {{}}"] * helper.arguments, ")")
    return f"{note}{head} {{\n  {unwritten}.refuse();\n}}\n\n"


_START = """\
// What the declarations of generated kernels name, and neither C++ nor PyTorch has: sizes, element types, settings.
//
// This file is yours: `opbridge codegen` wrote it once, as a start, and leaves it alone from now on.  What stands here
// compiles, and is an error when it is called; put your function in its place, or include its header.  What
// later declarations name comes here too, and by your hand.
#pragma once

#include <ATen/core/Tensor.h>

#include <ostream>
#include <string>
#include <tuple>
#include <vector>

namespace @NAMESPACE@ {

// In place of an argument whose type is not known, a list in braces too.
struct Anything {
  template <class... Values>
  Anything(const Values&...) {}
};

// In place of a value whose type is not known.
struct Unwritten {
  const char* name;

  [[noreturn]] void refuse() const {
    C10_THROW_ERROR(NotImplementedError, c10::str(name, " is not written; Helpers.h is the place for it"));
  }
  operator at::IntArrayRef() const { refuse(); }
  operator at::ScalarType() const { refuse(); }
  operator bool() const { refuse(); }
  operator int64_t() const { refuse(); }
  operator double() const { refuse(); }
  operator const char*() const { refuse(); }
  const void* get() const { refuse(); }
  friend std::ostream& operator<<(std::ostream&, const Unwritten& value) { value.refuse(); }
};

namespace launching {
inline Unwritten held(Unwritten value) { return value; }
}  // namespace launching

}  // namespace @NAMESPACE@
"""
