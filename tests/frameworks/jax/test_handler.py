"""What XLA's handler remembers of operators, and for how long."""

from __future__ import annotations

from subprocesses import succeed


def test_a_target_that_was_made_before_all_were_forgotten_is_made_anew() -> None:
    """Else a program might go on with an operator that was defined again while its Target was made."""
    code = """
import jax.numpy as jnp
import opbridge as ob
from opbridge.frameworks.jax import handler, lookup

op = ob.formula("handler::twice(Tensor x) -> Tensor", "2 * x")
handler.register_handler()
(native,) = handler._loaded
asked = []

def resolve(call, device):
    target = lookup.resolve(call, device)
    asked.append(call)
    if len(asked) == 1:
        native.forget()
    return target

native.connect(resolve)
for _ in range(3):
    assert op(jnp.ones(2)).tolist() == [2, 2]
assert len(asked) == 2, len(asked)
"""
    succeed(code)
