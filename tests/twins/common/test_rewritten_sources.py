"""Headers that are included are rewritten beside their source; the compiler finds all others itself."""

from __future__ import annotations

import re
from pathlib import Path

from opbridge.twins.common.rewritten_sources import INCLUDE_LINE, Files, Included


def included_by(source: Path, include_dir: Path) -> list[str]:
    """The names that stand in the rewritten source."""

    def rewrite(text: str, file: str, included: Included) -> str:
        return INCLUDE_LINE.sub(lambda line: included(line["name"]) or line["name"], text)

    files = Files(source.parent / "out", (include_dir,), re.compile("__aicore__"), rewrite)
    return files.translate(source, []).read_text().splitlines()[1:]


def test_a_header_in_brackets_that_stays_is_left_to_the_compiler(tmp_path: Path) -> None:
    include = tmp_path / "include"
    include.mkdir()
    (include / "cmath").write_text("#include_next <cmath>\n")
    (include / "device.h").write_text("__aicore__ void f();\n")
    (tmp_path / "plain.h").write_text("int g();\n")
    source = tmp_path / "k.cpp"
    source.write_text('#include <cmath>\n#include <device.h>\n#include "plain.h"\n')
    cmath, device, plain = included_by(source, include)
    assert cmath == "<cmath>"
    assert re.fullmatch(rf"{re.escape(str(tmp_path))}/out/\d_device\.h\.cpp", device)
    assert plain == str(tmp_path / "plain.h")
