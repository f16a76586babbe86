"""Build the wheel of opbridge for this Python, and try a first result of each kind in an environment with nothing else.

python tools/dist.py FOLDER

The wheel includes what connects it with the PyTorch and JAX of this Python, and with those of the environments in
OPBRIDGE_ENVIRONMENTS.  The trials run in a new virtual environment that has this wheel, and sees the frameworks that
are installed here: with a compiler, without one, without a network, and with a home that nobody can write.  None of
them may compile a part of opbridge.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "benchmarks" / "first"
LARGEST = 25 << 20
OWN = ("libopbridge_", "opbridge_torch_adapter", "opbridge_jax_handler", "opbridge_npu", "opbridge_cuda")
"""How the names of files begin that are compiled where the wheel lacks them."""

COMPILED = ("numpy_operator", "formula", "torch_operator", "jax_operator", "cuda_twin_operator", "twin_nvcc")
NOT_COMPILED = ("cuda_device", "npu_device", "twin_run")


@dataclass(frozen=True)
class Trial:
    """Programs to run under a condition."""

    name: str
    programs: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()


def main(folder: Path) -> None:
    """Build the wheel, check its size, and run the trials."""
    wheel = build(folder)
    size = wheel.stat().st_size
    print(f"{wheel}: {size / 1e6:.1f} MB", flush=True)
    if size > LARGEST:
        sys.exit(f"expected at most {LARGEST / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory(prefix="opbridge-dist-") as place:
        environment = Path(place, "environment")
        install(wheel, environment)
        for trial in trials(Path(place)):
            run(trial, environment, Path(place))


def build(folder: Path) -> Path:
    """Build the wheel into the folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("opbridge-*.whl"):
        old.unlink()
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", str(ROOT)]
    subprocess.run([*command, "--wheel-dir", str(folder), "--config-settings", "build-dir=build/dist"], check=True)
    (wheel,) = folder.glob("opbridge-*.whl")
    return wheel


def install(wheel: Path, environment: Path) -> None:
    """Make an environment of the wheel, and let it see the packages that are installed here."""
    venv.create(environment, with_pip=True)
    pip = [environment / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, wheel], check=True)
    (site,) = environment.glob("lib/python3*/site-packages")
    # A folder named in such a file adds packages, but not the editable installs of that folder.
    (site / "frameworks.pth").write_text(f"{Path(numpy.__file__).parents[1]}\n")


def trials(place: Path) -> list[Trial]:
    """Return the conditions of a user's machine."""
    bare = place / "bare"
    bare.mkdir()
    offline = ("unshare", "--map-root-user", "--net")
    can_be_offline = subprocess.run([*offline, "true"], capture_output=True).returncode == 0
    if not can_be_offline:
        print("without a network: not tried, because unshare makes no namespace here")
    return [
        Trial("with a compiler", COMPILED),
        Trial("without a compiler", NOT_COMPILED, {"PATH": str(bare)}),
        *([Trial("without a network", COMPILED[:3], command=offline)] if can_be_offline else []),
        Trial("with a home that cannot be written", (*COMPILED[:3], *NOT_COMPILED[:1]), {"HOME": "/proc"}),
    ]


def run(trial: Trial, environment: Path, place: Path) -> None:
    """Run the programs of a trial, and fail if one does or compiles what the wheel should include."""
    for name in trial.programs:
        home = place / trial.name.replace(" ", "-") / name
        home.mkdir(parents=True)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("OPBRIDGE_", "XDG_", "PYTHON"))}
        variables = {**kept, "HOME": str(home), "TMPDIR": str(home), **trial.variables}
        python = environment / "bin" / "python"
        command = [*trial.command, str(python), str(PROGRAMS / f"{name}.py")]
        done = subprocess.run(command, cwd=home, env=variables, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{name} {trial.name}:\n{done.stdout}{done.stderr}")
        if compiled := [file.name for file in home.rglob("*.so") if file.name.startswith(OWN) and _is_own(file)]:
            sys.exit(f"{name} {trial.name}: compiled {', '.join(sorted(compiled))}, which the wheel should include")
        print(f"ok  {name} {trial.name}", flush=True)
    shutil.rmtree(place / trial.name.replace(" ", "-"))


def _is_own(file: Path) -> bool:
    """Tell a compiled library from a copy of the wheel's, such as that in the folder of `twin nvcc --home`."""
    return (file.parent / "entry.json").exists()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
