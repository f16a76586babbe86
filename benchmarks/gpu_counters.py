"""Compare the counters of a GPU for the kernels of tests/analysis/profile/kernels.cu with counts by hand.

    python benchmarks/gpu_counters.py           needs a GPU, nvcc and ncu

Requests, sectors and passes are those of a whole kernel: a GPU does not count by line.
"""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.analysis.profile.test_counters import SOURCE, by_hand, kernels  # noqa: E402

from opbridge.build.toolchains import nvcc  # noqa: E402

_L1 = "l1tex__{what}_pipe_lsu_mem_{where}_op_{kind}.sum"
METRICS = {
    (kind, "global", unit): _L1.format(what=f"t_{unit}", where="global", kind=name)
    for kind, name in (("load", "ld"), ("store", "st"))
    for unit in ("requests", "sectors")
} | {
    (kind, "shared", "passes"): f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{name}.sum"
    for kind, name in (("load", "ld"), ("store", "st"))
}

Counts = dict[tuple[str, str, str], int]


def main() -> int:
    differing = 0
    counted = counted_by_gpu()
    for kernel, lines in kernels().items():
        ours, gpus = by_hand_in_all(lines), counted[kernel]
        differing += ours != gpus
        print(f"{'same     ' if ours == gpus else 'DIFFERENT'} {kernel}: {said(ours, gpus)}")
    print(f"{len(counted) - differing} of {len(counted)} kernels are counted as a GPU does")
    return differing > 0


def by_hand_in_all(lines: range) -> Counts:
    total: Counter[tuple[str, str, str]] = Counter()
    for _, kind, space, requests, parts, joined, _ in by_hand(lines)[0]:
        if kind in ("load", "store") and space == "global":
            total[kind, space, "requests"] += requests
            total[kind, space, "sectors"] += parts
        elif kind in ("load", "store") and space == "shared":
            total[kind, space, "passes"] += joined
    return {key: total[key] for key in METRICS}


def said(ours: Counts, gpus: Counts) -> str:
    pairs = (f"{' '.join(key)} {ours[key]}/{gpus[key]}" for key in METRICS if ours[key] or gpus[key])
    return ", ".join(pairs)


def counted_by_gpu() -> dict[str, Counts]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "main.cu").write_text(f'#include "{SOURCE}"\nint main() {{ return run_all(); }}\n')
        subprocess.run([*nvcc.find(), "-O3", "-arch=native", "main.cu", "-o", "main"], cwd=folder, check=True)
        asked = ["ncu", "--csv", "--page", "raw", "--metrics", ",".join(METRICS.values()), "./main"]
        done = subprocess.run(asked, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"ncu: {done.stdout}{done.stderr}")
    return read(done.stdout)


def read(text: str) -> dict[str, Counts]:
    rows = list(csv.DictReader(io.StringIO(text[text.index('"ID"') :])))
    # The first row has the units.
    return {
        row["Kernel Name"].partition("(")[0]: {
            key: int(float(row[name].replace(",", ""))) for key, name in METRICS.items()
        }
        for row in rows[1:]
    }


if __name__ == "__main__":
    sys.exit(main())
