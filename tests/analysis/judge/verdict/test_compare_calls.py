"""One call of an answer next to that of the reference: what it leaves behind, and what later calls give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from opbridge.analysis.judge.judgement import WEIGHTS
from opbridge.analysis.judge.process.jobs import Trial
from opbridge.analysis.judge.process.run_record import Run
from opbridge.analysis.judge.task.shapes import SHRUNK, Plan
from opbridge.analysis.judge.values import Array, save
from opbridge.analysis.judge.verdict.compare_calls import held

TRIAL = Trial(0, Plan(SHRUNK), 1, "float32[2]", ())
REWEIGHTED = TRIAL.other_file(WEIGHTS)
STATE = {"weight": 2.0, "running_mean": 0.1, "num_batches_tracked": 1}


def array(*numbers: float, dtype: str = "float32") -> Array:
    return Array(dtype, (len(numbers),), np.array(numbers, dtype).tobytes())


def state(**changes: float) -> dict[str, Array]:
    values = STATE | changes
    return {name: array(value, dtype="int64" if type(value) is int else "float32") for name, value in values.items()}


class Call:
    """A call that is right, until something else is said."""

    def __init__(self, folder: Path) -> None:
        self.expected, self.own = folder / "expected", folder / "own"
        self.expected.mkdir()
        self.own.mkdir()
        wide = {name: array(*np.frombuffer(one.data, one.dtype), dtype="float64") for name, one in state().items()}
        wide["num_batches_tracked"] = state()["num_batches_tracked"]
        for path, numbers in ((TRIAL.exact_file, (1.0, 2.0)), (f"{REWEIGHTED}.exact", (-0.5, -1.0))):
            save(self.expected / path, array(*numbers, dtype="float64"))
            save(self.expected / path.replace("exact", "rounded"), array(*numbers))
        save(self.expected / f"{TRIAL.state_file}.exact", wide)
        save(self.expected / f"{TRIAL.state_file}.rounded", state())
        for folder_of in (self.expected, self.own):
            save(folder_of / TRIAL.parameters_file, [array(2.0)])
        for name in (TRIAL.output_file, TRIAL.again_file, TRIAL.later_files[-1]):
            save(self.own / name, array(1.0, 2.0))
        save(self.own / REWEIGHTED, array(-0.5, -1.0))
        save(self.own / TRIAL.state_file, state())

    def found(self) -> tuple[str, str]:
        run = Run()
        run.hear({"ran": 0, "operators": [], "changed": [], "operations": 0.0, "calls": 2})
        judgement = held(run, TRIAL, self.expected, self.own)
        return (judgement.reasons[0].check, judgement.reasons[0].message) if judgement else ("", "")


def test_what_is_right_stays_so(tmp_path: Path) -> None:
    assert Call(tmp_path).found() == ("", "")


def test_a_fiftieth_call(tmp_path: Path) -> None:
    call = Call(tmp_path)
    save(call.own / TRIAL.later_files[-1], array(1.0, 1.0))
    check, message = call.found()
    assert check == "second call"
    assert message.startswith("called for the fiftieth time, the output is 1 instead of 2 at [1]")
    (call.own / TRIAL.later_files[-1]).unlink()
    assert call.found() == ("", ""), "calls may be too long for fifty"


def test_one_of_the_later_calls(tmp_path: Path) -> None:
    call = Call(tmp_path)
    save(call.own / TRIAL.later_files[1], array(1.0, 1.0))
    assert call.found()[1].startswith("called again and again, the output is 1 instead of 2 at [1]")


def test_inputs_in_other_memory(tmp_path: Path) -> None:
    call = Call(tmp_path)
    save(call.own / TRIAL.elsewhere_file, array(1.0, 1.0))
    check, message = call.found()
    assert check == "second call"
    assert message.startswith("with the same inputs in other memory, with gradients, the output is 1 instead of 2")


@pytest.mark.parametrize("name", STATE)
def test_buffers_and_weights_after_a_call(tmp_path: Path, name: str) -> None:
    call = Call(tmp_path)
    save(call.own / TRIAL.state_file, state(**{name: type(STATE[name])(7)}))
    check, message = call.found()
    assert check == "state"
    assert message.startswith(f"{name} after the call is 7 instead of")


def test_state_of_an_answer_s_own_is_not_compared(tmp_path: Path) -> None:
    call = Call(tmp_path)
    save(call.own / TRIAL.state_file, {"packed": array(1.0, 2.0), "weight": array(2.0, 2.0)})
    assert call.found() == ("", "")


def test_weights_that_change_in_place(tmp_path: Path) -> None:
    call = Call(tmp_path)
    save(call.own / REWEIGHTED, array(1.0, 2.0))
    check, message = call.found()
    assert check == "weights"
    assert message.startswith("after its weights changed in place, the output is 1 instead of -0.5")
    (call.own / REWEIGHTED).unlink()
    assert call.found()[1].endswith("it ends with an error, and the reference does not")
    # What has other weights than the reference is not to be changed in the same way.
    save(call.own / TRIAL.parameters_file, [array(4.0)])
    assert call.found() == ("", "")
