"""Run a call or a program in a separate process whose kernels count, and return their costs."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from opbridge.analysis.profile import counter_files
from opbridge.analysis.profile.ascend import instruction_records
from opbridge.analysis.profile.ascend.kernel_timelines import timelines
from opbridge.analysis.profile.chips import Chip, chip_named
from opbridge.analysis.profile.kernel_costs import analysed
from opbridge.analysis.profile.profile_contents import Profile
from opbridge.analysis.profile.registers import registers_of
from opbridge.base.errors import InputError, KernelError, for_users
from opbridge.build.toolchains.bisheng import SOC
from opbridge.build.toolchains.interface import PROFILE
from opbridge.waist.op import Op

BLOCKS = "OPBRIDGE_TWIN_CHECK_BLOCKS"
_BLOCKS = "16"
"""The counted blocks of each launch of a program; other blocks run without counting."""
ALONE = "OPBRIDGE_TWIN_PROFILE_ALONE"
"""The variable that prevents uncounted blocks from running: they compute nothing and take no time."""
_WORKER = "opbridge.analysis.profile.worker"
_CUDA, _ASCEND = "a100", "910b"
"""The default chips."""


@for_users
def profile(op: Op, *args: object, chip: str | None = None, **kwargs: object) -> Profile:
    """Profile one call of an operator by the kernels that it runs in a twin.

    The call runs in another process, which loads the operator again.

    Args:
        op: An operator for a twin, for example from `ob.load("ops.yaml", device="cuda-twin")`.
        args: NumPy arrays or tensors of any framework.
        chip: The chip; the default is an A100 for CUDA, and a 910B for Ascend C.
        kwargs: Keyword arguments of the call.

    Returns:
        The profile: counts, predicted times and hints by kernel and line.

    Raises:
        InputError: The call runs no kernel that counts, or none for the chip.
        KernelError: The process failed before a kernel was counted.

    Example:
        print(ob.profile(op, x, y, chip="a100"))
    """
    return _of_call(op, "", args, kwargs, _chip(chip), {})


def profile_sample(op: Op, args: Sequence[object], kwargs: Mapping[str, object], chip: Chip) -> Profile:
    """Profile one call of an operator that is loaded for any device, with NumPy arrays.

    Only the counted blocks of its kernels run, so a large call takes little longer than a small one.
    """
    return _of_call(op, chip.twin, args, kwargs, chip, {ALONE: "1"})


def _of_call(
    op: Op,
    device: str,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    chip: Chip | None,
    variables: dict[str, str],
) -> Profile:
    with tempfile.TemporaryDirectory(prefix="opbridge-profile-") as folder:
        job = Path(folder, "job")
        with job.open("wb") as file:
            pickle.dump([entry or os.getcwd() for entry in sys.path], file)
            pickle.dump((op, device, args, kwargs), file)
        return _run([sys.executable, "-m", _WORKER, str(job)], chip, str(op.name), variables)


def profile_command(command: Sequence[str], chip: str | None = None, source: Path | None = None) -> Profile:
    """Profile a program from `opbridge twin nvcc --counters`, with all of its launches together.

    If `source` is given and nvcc is installed, the profile includes the registers of its kernels on the chip.
    """
    found = _chip(chip)
    variables = {BLOCKS: os.environ.get(BLOCKS, _BLOCKS)}
    return _run([str(word) for word in command], found, str(command[0]), variables, source)


def _chip(name: str | None) -> Chip | None:
    return None if name is None else chip_named(name)


def _run(
    command: list[str], chip: Chip | None, name: str, variables: dict[str, str], source: Path | None = None
) -> Profile:
    if chip is not None and chip.soc:
        variables = variables | {SOC: chip.soc}
    with tempfile.TemporaryDirectory(prefix="opbridge-profile-") as folder:
        try:
            done = subprocess.run(
                command,
                env=os.environ | variables | {PROFILE: folder},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        except OSError as error:
            raise InputError(f"{name} cannot be run: {error.strerror}") from None
        found = _read(Path(folder), chip, name, source)
    if found is not None:
        return found
    if done.returncode:
        raise KernelError(f"{name} ended with exit code {done.returncode} before a kernel was counted:\n{done.stdout}")
    if source is not None:
        raise InputError(f"{source} ran and launched no kernel", hint="its arguments go after --")
    raise InputError(
        f"{name} launched no kernel that counts",
        hint='load an operator with device="cuda-twin" or "ascend-twin"; compile a program by opbridge twin nvcc '
        "--counters",
    )


def _read(folder: Path, chip: Chip | None, name: str, source: Path | None) -> Profile | None:
    of_cuda, of_ascend = list(counter_files.read(folder)), list(instruction_records.read(folder))
    if not of_cuda and not of_ascend:
        return None
    chip = chip or chip_named(_CUDA if of_cuda else _ASCEND)
    runs = of_cuda if chip.multiprocessor else of_ascend
    if not runs:
        kind, other = ("CUDA", _CUDA) if of_cuda else ("Ascend C", _ASCEND)
        raise InputError(
            f"{name} runs kernels of {kind}, and a chip called {chip.name} runs none of them",
            hint=f"as in chip={other!r}",
        )
    if chip.multiprocessor:
        registers = registers_of(source, chip.multiprocessor) if source else None
        return Profile(chip, analysed(of_cuda, chip, registers))
    return Profile(chip, timelines=timelines(of_ascend, chip))
