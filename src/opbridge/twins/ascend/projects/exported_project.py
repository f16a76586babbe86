"""The conversion of a project into a folder that needs no sources: libraries, headers and an ops.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from opbridge.build.cache import Cache
from opbridge.build.cache.filesystem import copy_atomically
from opbridge.build.toolchains import BuildRequest, build, stamped_folder
from opbridge.build.toolchains.interface import INCLUDE
from opbridge.twins import ascend
from opbridge.twins.ascend.projects import opapi
from opbridge.twins.ascend.projects.operator import Operator
from opbridge.twins.ascend.projects.project_folder import Project
from opbridge.twins.ascend.projects.shapes import rules_of
from opbridge.twins.ascend.projects.signature import Signature
from opbridge.twins.ascend.toolchain import runtime

HEADERS, LIBRARIES = "op_api/include", "op_api/lib"
"""The folders of headers and libraries in the vendor's packages."""


def write(project: Project, operators: Sequence[Operator], folder: Path, namespace: str) -> Iterator[str]:
    """Write the folder and yield each relative path that was written."""
    signatures = [Signature(one.definition, rules_of(project, one.definition)) for one in operators]
    headers, libraries = folder / HEADERS, folder / LIBRARIES
    for path in (headers, libraries):
        path.mkdir(parents=True, exist_ok=True)
    for operator in operators:
        for combination in range(operator.definition.combinations):
            built = build(operator.request(combination))
            copy_atomically(built.path, libraries / opapi.kernel_library(operator.definition, combination))
        name = f"aclnn_{operator.definition.name}.h"
        (headers / name).write_text(opapi.header(operator.definition), encoding="utf-8")
        yield f"{HEADERS}/{name}"
    copy_atomically(build(_library(project, signatures, headers)).path, libraries / opapi.LIBRARY)
    stamped_folder.add_library(runtime(), libraries / ascend.LIBRARY)
    yield f"{LIBRARIES}/{opapi.LIBRARY}"
    (folder / "ops.yaml").write_text(_manifest(signatures, namespace), encoding="utf-8")
    yield "ops.yaml"


def _library(project: Project, signatures: Sequence[Signature], headers: Path) -> BuildRequest:
    source = Cache().keep("opapi_of_project.cpp", opapi.source(signatures))
    host = project.host_request
    return replace(
        host,
        sources=(*host.sources, ascend.INCLUDE.parent / "host" / "opapi.cpp", source),
        output=opapi.LIBRARY,
        include_dirs=(*host.include_dirs, INCLUDE, headers.resolve()),
    )


def _manifest(signatures: Sequence[Signature], namespace: str) -> str:
    from opbridge.waist.manifest import Manifest

    text = "".join((f"namespace: {namespace}\nops:\n", *(_entry(one) for one in signatures)))
    Manifest.parse(text)  # raises before writing a file that opbridge cannot read
    return text


def _entry(signature: Signature) -> str:
    rules = [signature.rules[one.name] for one in signature.made]
    lines = [f"  - func: {signature.schema()}"]
    if rules:
        listed = rules[0] if len(rules) == 1 else f"[{', '.join(rules)}]"
        lines.append(f"    out: {listed}")
    lines.append(f"    kernels: {{ascend-twin: {LIBRARIES}/{opapi.LIBRARY}:{opapi.symbol(signature.definition)}}}")
    return "".join(f"{line}\n" for line in lines)
