"""Everything that a generated backend leaves to its authors, for the simulated device: see stand_ins.h."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from opbridge.codegen.backend import Backend, BackendKernel, BackendOperator
from opbridge.codegen.unboxed_types import Signature, quoted

HEADER = Path(__file__).with_name("stand_ins.h")

_FIRST = """\
#include "stand_ins.h"

// Before the kernels of the other files, which are registered when no order is asked for.
__attribute__((constructor(101))) static void set_up() {
  stand_in::remember();
  at::addGlobalCallback(at::RecordFunctionCallback(&stand_in::begin).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
}
"""
_LAUNCHER = """\
#pragma once

#include "stand_ins.h"
#if __has_include("Helpers.h")
#include "Helpers.h"
#endif

namespace @NAMESPACE@ {
namespace launching {
inline void add(std::vector<at::Tensor>& tensors, const at::Tensor& tensor) {
  if (tensor.defined()) tensors.push_back(tensor);
}
template <class Other>
void add(std::vector<at::Tensor>&, const Other&) {}
}  // namespace launching

template <class... Arguments>
void launch(const char*, const Arguments&... arguments) {
  std::vector<at::Tensor> tensors;
  (launching::add(tensors, arguments), ...);
  stand_in::running().write(tensors);
}
}  // namespace @NAMESPACE@
"""


def with_stand_ins(backend: Backend, files: Mapping[str, str]) -> dict[str, str]:
    """The generated files, with kernels, a launcher and helpers."""
    made = {**files, "stand_ins.h": HEADER.read_text(), "A_first.cpp": _FIRST, "kernels.cpp": _kernels(backend)}
    if "Launcher.h" in made:
        made["Launcher.h"] = _LAUNCHER.replace("@NAMESPACE@", backend.target.cpp_namespace)
    if "Helpers.h" in made:
        made["Helpers.h"] = _helpers(made["Helpers.h"])
    return made


def _helpers(text: str) -> str:
    """What refuses gives what makes the outputs PyTorch's; only what it is taken for says which."""
    text = text.replace("const { refuse(); }", "const { return stand_in::Value(); }")
    before, *functions = re.split(r"^(?=inline )", text, flags=re.MULTILINE)
    return before + "".join(map(_standing_in, functions))


def _standing_in(function: str) -> str:
    is_unwritten = re.match(r"inline \S*Unwritten ", function) is not None
    return re.sub(
        r"(\S*Unwritten\{\S+\})\.refuse\(\);", r"return \1;" if is_unwritten else "return stand_in::Value();", function
    )


def _kernels(backend: Backend) -> str:
    text = '#include "Kernels.h"\n\n#include "stand_ins.h"\n\n'
    return text + "\n".join(dict(_functions(backend)).values())


def _functions(backend: Backend) -> Iterator[tuple[str, str]]:
    for operator in backend.operators:
        for kernel in operator.kernels:
            if not kernel.shared and kernel.launch is None:
                signature = Signature.of(operator, symint=kernel.symint)
                head = signature.head(kernel.name)
                body = _body(operator, kernel, signature)
                text = f"namespace {kernel.namespace} {{\n{head} {{\n  {body}\n}}\n}}\n"
                yield f"{kernel.function} {signature.type}", text


def _body(operator: BackendOperator, kernel: BackendKernel, signature: Signature) -> str:
    if operator.is_custom:
        return f"TORCH_CHECK_NOT_IMPLEMENTED(false, {quoted(operator.name)});"
    names = [quoted(operator.schema.qualified_name), quoted(operator.schema.overload)]
    names += [f"c10::DispatchKey::{kernel.key}", *signature.names]
    return f"return stand_in::Call<{signature.type}>::with({', '.join(names)});"
