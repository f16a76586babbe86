"""Derive a verdict from the error that an answer raised, or from how its process ended."""

from __future__ import annotations

import re
from typing import Any

from opbridge.analysis.judge.answer.native_imports import RefusedCodeError
from opbridge.analysis.judge.judgement import ENDLESS, MACHINE, TIME, TO_COMPUTE, Judgement, Reason, Verdict
from opbridge.analysis.judge.process.jobs import MUTED, Trial, telling
from opbridge.analysis.judge.process.run_record import ON_GPU, Run
from opbridge.verify.check.process_limits import TOO_MUCH_MEMORY

PROGRAM = "program"
"""The check for calls that are wrong whatever the numbers are."""
_FINDING = re.compile(r"(?:cuda|ascend)-twin: (?P<what>.*?) \[(?P<check>[\w-]+)\](?P<rest>(?:\n  .*)*)")
_WHERE = re.compile(r"([\w.-]+\.(?:cuh?|cpp|h):\d+)")
_TO_DO = re.compile(r"^  hint +(.*)", re.MULTILINE)
_ERROR_PLACE = re.compile(r"^(?:\S*/)?([^\s:]+:\d+)(?::\d+)?: (?:fatal )?error: (.*)", re.MULTILINE)
_NOT_OURS = re.compile(
    r"fatal error: (cublas|cudnn|cusparse|cusolver|curand|cufft|cutlass|cute|cub|thrust|cuda|mma|nccl|nvToolsExt"
    r"|ATen|c10|aclnnop|hccl|catlass|shmem|atb|op_plugin|lib|tiling)[\w/.]*: No such file"
    r"|not supported by the CUDA twin|CANN's own are not here"
    r"|(undefined reference to|cannot find -l|undefined symbol:) ?.?cu(blas|dnn|rand|sparse|solver|fft)"
)
_OF_PYTORCH = "a framework: "
"""The prefix of twin findings in accesses by PyTorch itself, which no answer causes."""
_OF_PROGRAMS = ("TypeError", "AttributeError", "NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError")
"""Exceptions that Python raises for wrong programs."""
_KILLED = re.compile(r"\S+ \S+ (did not finish: .*|took too long and was ended)")


def of_error(error: dict[str, Any], trial: Trial | None, shapes: tuple[str, ...]) -> Judgement:
    """Return the judgement of an answer that raised an error, with `trial` or, if it is None, while it was built."""
    message = str(error["message"])
    shape, seed = (trial.shown, trial.seed) if trial else ("", None)
    if error["kind"] == RefusedCodeError.__name__:
        reason = Reason("judge", message.splitlines()[0], TO_COMPUTE, error["place"])
        return Judgement(Verdict.CHEATING, (reason,), shapes=shapes)
    finding = _FINDING.search(message)
    if finding and finding["what"].startswith(_OF_PYTORCH):
        reason = Reason(
            "twin", finding["what"], "judge it on a GPU: a PyTorch operator fails on the device of the twin"
        )
        return Judgement(Verdict.UNDECIDED, (reason,), shapes=shapes)
    if finding and finding["check"] == ENDLESS and trial is not None and trial.plan.may_take_long:
        reason = Reason(TIME, finding["what"], ON_GPU, "", shape, seed)
        return Judgement(Verdict.UNDECIDED, (reason,), shapes=shapes)
    if finding:
        where, to_do = _WHERE.search(finding["rest"]), _TO_DO.search(finding["rest"])
        reason = Reason(
            finding["check"], finding["what"], to_do[1] if to_do else "", where[1] if where else "", shape, seed
        )
        return Judgement(Verdict.WRONG, (reason,), shapes=shapes)
    if _NOT_OURS.search(message):
        lines = [line for line in message.splitlines() if _NOT_OURS.search(line)]
        reason = Reason("twin", lines[0].strip(), f"{ON_GPU}: the twin lacks this library", error["place"])
        return Judgement(Verdict.UNDECIDED, (reason,), shapes=shapes)
    if error.get("build") and (killed := _KILLED.search(message)):
        reason = Reason(MACHINE, killed[0], "judge it again where there is more memory")
        return Judgement(Verdict.UNDECIDED, (reason,), shapes=shapes)
    if error.get("build"):
        at = _ERROR_PLACE.search(message)
        place, said = (at[1], at[2]) if at else (error["place"], message.splitlines()[0])
        return Judgement(Verdict.BROKEN, (Reason("build", f"it does not compile: {said}", "correct it", place),))
    text = f"{error['kind']}: {message.splitlines()[0]}"
    if error.get("tools"):
        reason = Reason(
            MACHINE, f"opbridge's own tools failed during the build: {text}", "judge it again", error["place"]
        )
        return Judgement(Verdict.UNDECIDED, (reason,), shapes=shapes)
    check = PROGRAM if error["kind"] in _OF_PROGRAMS else "run"
    return Judgement(Verdict.BROKEN, (Reason(check, text, "correct it", error["place"], shape, seed),), shapes=shapes)


def of_end(run: Run, trials: tuple[Trial, ...], shapes: tuple[str, ...]) -> Judgement:
    """Return the judgement of an answer whose process ended early."""
    muted = telling(trials) if trials and run.at == MUTED else None
    trial = next((trial for trial in trials if trial.number == run.at), muted)
    shape, seed = (trial.shown, trial.seed) if trial else ("", None)
    how = run.end or "the process ends with exit code 0, as by exit()"
    if run.timed_out:
        reason = Reason(TIME, f"{how} while at {run.at}", "--timeout waits longer", "", shape, seed)
        return Judgement(Verdict.UNDECIDED, (reason,), shapes=shapes)
    if how.endswith("SIGKILL"):
        reason = Reason(
            MACHINE, f"{how}, usually because the machine ran out of memory", "judge it again", "", shape, seed
        )
        return Judgement(Verdict.UNDECIDED, (reason,), shapes=shapes)
    if how == TOO_MUCH_MEMORY:
        # The twin may cause this: it stores more for each tensor than a GPU does.
        reason = Reason(MACHINE, how, "judge it where there is more memory", "", shape, seed)
        return Judgement(Verdict.UNDECIDED, (reason,), shapes=shapes)
    return Judgement(Verdict.BROKEN, (Reason("run", how, "correct it", "", shape, seed),), shapes=shapes)
