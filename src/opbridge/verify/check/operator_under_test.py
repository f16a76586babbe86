"""One operator in one framework, with its inputs and its reference: what all checks are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from opbridge.base.errors import UnsupportedError
from opbridge.verify.check.accepted_inputs import OperatorWithInputs
from opbridge.verify.check.arrays import Argument, Array, mismatch
from opbridge.verify.check.drivers import Driver, NotHere
from opbridge.verify.check.inputs import Case
from opbridge.verify.check.kernel_declarations import device_of
from opbridge.verify.check.outcomes import Failure, Skip, first_line
from opbridge.verify.check.references import Oracle
from opbridge.verify.check.results import Reference, Settings, Status
from opbridge.verify.check.shared_state import Surroundings
from opbridge.waist.manifest.kernel_origins import TWINS

if TYPE_CHECKING:
    from opbridge.waist.op import Op


class OperatorUnderTest(OperatorWithInputs):
    """An operator in one framework, with its inputs and its reference."""

    def __init__(
        self,
        op: Op,
        driver: Driver,
        settings: Settings,
        announce: Callable[[str], None],
        children: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(op, driver, settings, announce, children)
        self.oracle = Oracle(op, self.schema, settings.reference or _twin(op, settings.device))
        self.dtypes_seen: dict[str, Status] = {}
        """The results of the row `dtypes` for each element type so far."""
        self.surroundings = Surroundings.now()
        """The values before the first call, and after everything was built."""

    def require_kernel(self) -> None:
        """Raise Skip if the operator has no kernel for the device to check."""
        device = device_of(self.op, self.settings.tensors)
        # A twin runs if there is no other kernel for tensors on the CPU, or if it simulates the device.
        of = ("cpu", TWINS[device].of) if device in TWINS else ()
        if self.settings.device not in (device, *of):
            have = ", ".join(kernel.device for kernel in self.spec.kernels)
            raise Skip(f"no kernel for {self.settings.device} to check; it has {have}")

    @property
    def has_reference(self) -> bool:
        """Whether there is a reference: outside of NumPy, the kernel's result in NumPy is the default."""
        return self.settings.reference is not None or self.driver.name != "numpy"

    def expected(self, given: Mapping[str, Argument]) -> list[Array] | None:
        """Return the reference's outputs; None if it has none for these arguments.

        Raises:
            Failure: The reference raises an error.
        """
        if not self.has_reference:
            return None
        try:
            return self.oracle.outputs(given)
        except (NotHere, UnsupportedError):
            return None
        except Exception as error:
            raise Failure(f"the reference {self.oracle.name} fails: {first_line(error)}") from error

    def compare(self, case: Case) -> str | None:
        """Return how a call differs from the reference: empty if it does not, None if there is no reference."""
        given = self.arguments(case)
        made = self.run(given)
        expected = self.expected(given)
        return None if expected is None else mismatch(made, expected)

    def rerun(self, given: Mapping[str, Argument], times: int) -> Iterator[list[Array]]:
        """Yield the outputs of repeated calls."""
        for _ in range(times):
            yield self.run(given)


def _twin(op: Op, device: str) -> Reference | None:
    """Return the twin of the device as the reference, for an operator without a CPU kernel; else None."""
    twins = [name for name, twin in TWINS.items() if twin.of == device]
    return Reference("device", twins[0]) if twins and device_of(op, "cpu") is None else None
