"""Run NVIDIA's compute-sanitizer on the kernels with mistakes that test the CUDA twin, kernel by kernel.

python benchmarks/gpu_findings.py [--json FILE]         needs a GPU, nvcc and compute-sanitizer
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from opbridge.build.toolchains import nvcc

ROOT = Path(__file__).resolve().parents[1]
BROKEN = ROOT / "tests" / "twins" / "cuda" / "broken"
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
# It runs forever: the twin ends it, a GPU would not.
LEFT_OUT = {"endless"}
_SUMMARY = re.compile(r"SUMMARY: (\d+) (?:error|hazard)")
_SECONDS = 20


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks/gpu_findings.py", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    cases = [path for path in sorted(BROKEN.glob("*.cu")) if path.stem not in LEFT_OUT]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(8) as pool:
        of_each = pool.map(lambda path: findings(path, Path(folder)), cases)
        found = {path.stem: tools for path, tools in zip(cases, of_each, strict=True)}
    for path in cases:
        tools = [f"{tool} {count}" for tool, count in found[path.stem].items() if count]
        print(f"{path.stem}: the twin: {twins_check(path)}; compute-sanitizer: {', '.join(tools) or 'nothing'}")
    seen = sum(any(isinstance(count, int) and count > 0 for count in tools.values()) for tools in found.values())
    print(f"compute-sanitizer finds {seen} of {len(cases)}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


def twins_check(path: Path) -> str:
    return ", ".join(sorted(set(re.findall(r" \[([a-z-]+)\]$", path.read_text(), re.MULTILINE))))


def findings(path: Path, folder: Path) -> dict[str, int | str]:
    """Return the number of reports of each tool, or why it did not run."""
    main = folder / f"{path.stem}_main.cu"
    main.write_text(f'#include "{path}"\nint main() {{ {path.stem}(); return 0; }}\n')
    program = folder / path.stem
    flags = ("-g", "-lineinfo", "-arch=native", f"-I{path.parent}")
    built = subprocess.run([*nvcc.find(), *flags, str(main), "-o", str(program)], capture_output=True, text=True)
    if built.returncode:
        return {"nvcc": built.stderr.strip().splitlines()[0]}
    return {tool: finding(tool, program) for tool in TOOLS}


def finding(tool: str, program: Path) -> int | str:
    more = ["--leak-check", "full"] if tool == "memcheck" else []
    command = ["compute-sanitizer", "--tool", tool, *more, str(program)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, start_new_session=True, **pipes) as process:
        try:
            said, _ = process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            # End the program, too: its kernel would use the GPU forever.
            os.killpg(process.pid, signal.SIGKILL)
            return "did not end"
    counts = [int(count) for count in _SUMMARY.findall(said)]
    return sum(counts) if counts else f"exit {process.returncode}: {said.strip()[-200:]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
