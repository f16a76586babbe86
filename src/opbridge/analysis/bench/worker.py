"""Run the process that measures the operators of one framework, undisturbed by threads of other frameworks."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import asdict, replace

from opbridge.analysis.bench.measurement import OperatorTimings
from opbridge.verify.check.child_process import Say, serve, told_more


def _work(jobs: list[OperatorTimings], say: Say) -> None:
    from opbridge.analysis.bench.measure_operator import Measured, measurements
    from opbridge.base.errors import BuildError, InputError, NoSuchOperatorError, OpbridgeError, ToolchainError
    from opbridge.verify.check.drivers import driver
    from opbridge.verify.check.outcomes import Failure, Skip
    from opbridge.verify.check.results import Settings

    warnings.simplefilter("ignore")  # frameworks warn about code that users of a benchmark did not write
    turn = told_more()
    with suppress(OpbridgeError):  # reported when the operator is measured
        driver(jobs[0].framework, Settings(device=jobs[0].settings.device).tensors)
    say(imported=True)
    predicted = turn()
    for number, job in enumerate(replace(job, predicted=predicted.get(job.operator, {})) for job in jobs):
        say(begun=number)
        try:
            settings = Settings(device=job.settings.device, seed=job.settings.seed)
            where = driver(job.framework, settings.tensors)
            subject = Measured(job.op, where, settings, lambda text: say(input=text))
            for measurement in measurements(job, subject):
                say(measured=asdict(measurement))
        except (BuildError, ToolchainError) as error:
            say(refused=str(error), toolchain=True)
            return
        except (InputError, NoSuchOperatorError) as error:
            say(refused=str(error), toolchain=False)
            return
        except (Failure, Skip) as reason:
            say(problem=str(reason))
        except Exception as error:  # whatever the operator raises
            say(problem=str(error).strip() or type(error).__name__)


if __name__ == "__main__":
    serve(_work)
