"""What is linked to a stub finds the library by its path, whoever asks for it by its name too."""

from __future__ import annotations

import subprocess
from pathlib import Path

from opbridge.twins.cuda.nvcc.stubs import stub


def run(*command: object) -> str:
    return subprocess.run([*map(str, command)], check=True, capture_output=True, text=True, timeout=60).stdout


def test_a_program_finds_the_library_without_being_told_where(tmp_path: Path) -> None:
    (tmp_path / "answer.c").write_text("int answer(void) { return 42; }\n")
    (tmp_path / "main.c").write_text("int answer(void);\nint main(void) { return answer() - 42; }\n")
    library, stubs = tmp_path / "libanswer.so", tmp_path / "stubs"
    run("gcc", "-shared", "-fPIC", "-Wl,-soname,libanswer.so", tmp_path / "answer.c", "-o", library)
    stubs.mkdir()
    (stubs / "libanswer.so").write_bytes(stub(library, library))
    run("gcc", tmp_path / "main.c", f"-L{stubs}", "-lanswer", "-o", tmp_path / "main")
    run(tmp_path / "main")
    assert f"{library} (0x" in run("ldd", tmp_path / "main")
