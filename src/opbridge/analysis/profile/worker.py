"""Run one call of an operator, in a separate process."""

from __future__ import annotations

import pickle
import sys


def main(job: str) -> None:
    """Run the pickled call in the file `job`, on a device if it names one."""
    with open(job, "rb") as file:
        sys.path[:] = pickle.load(file)
        op, device, args, kwargs = pickle.load(file)
    if device:
        from opbridge.verify.check.kernel_declarations import in_numpy

        op = in_numpy(op, device)
    op(*args, **kwargs)


if __name__ == "__main__":
    main(sys.argv[1])
