"""All rules of one operator: what `ops.yaml` says beyond its schema and kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opbridge.errors import did_you_mean
from opbridge.rules.derivatives import Backward, Derivative, parse_backward, parse_derivatives
from opbridge.rules.dimensions import Batch, parse_batch
from opbridge.rules.kinds import Kind, Locate, Place, no_location
from opbridge.rules.launch import Launch, parse_launch
from opbridge.rules.lowering import Lowering
from opbridge.rules.outputs import FromKernel, OutRule, parse_out
from opbridge.rules.parser import parse_expression
from opbridge.rules.sharding import Shard, parse_shard
from opbridge.rules.syntax import Expr
from opbridge.schema import Schema

FIELDS = ("out", "derivatives", "backward", "batch", "shard", "flops", "launch")


@dataclass(frozen=True)
class Rules:
    out: tuple[OutRule, ...] = ()
    derivatives: tuple[Derivative, ...] = ()
    backward: Backward | None = None
    batch: Batch | None = None
    shard: Shard | None = None
    flops: Expr | None = None
    launch: Launch | None = None

    @classmethod
    def parse(
        cls,
        fields: Mapping[str, object],
        schema: Schema,
        *,
        operators: Mapping[str, Schema] | None = None,
        locate: Locate = no_location,
        kernel_may_say: bool = False,
        framework_says: bool = False,
    ) -> Rules:
        """Checks every rule against the schema.

        `operators` are those a formula may call, by full name; `locate` gives the place of a value by its path, such
        as `("out", "shape")`.  `out` is not needed where the kernel may say what its outputs are like, and is
        not read where the kernel is a framework's own operator.
        """
        place = Place(locate)
        operators = operators or {}
        for key in fields:
            if key not in FIELDS:
                raise place.child(key).error(f"unknown rule '{key}'", did_you_mean(key, FIELDS) or ", ".join(FIELDS))
        given = {key: (fields.get(key), place.child(key)) for key in FIELDS}
        if fields.get("derivatives") is not None and fields.get("backward") is not None:
            raise place.child("backward").error("derivatives and backward say the same thing", "keep one of them")
        derivatives, backward, batch, shard, flops, launch = (given[key] for key in FIELDS[1:])
        return cls(
            out=()
            if framework_says
            else parse_out(
                fields.get("out"),
                schema,
                locate=lambda path: locate(("out", *path)),
                kernel_may_say=kernel_may_say,
            ),
            derivatives=()
            if derivatives[0] is None
            else parse_derivatives(derivatives[0], schema, operators, derivatives[1]),
            backward=None if backward[0] is None else parse_backward(backward[0], schema, operators, backward[1]),
            batch=None if batch[0] is None else parse_batch(batch[0], schema, batch[1]),
            shard=None if shard[0] is None else parse_shard(shard[0], schema, shard[1]),
            flops=None if flops[0] is None else _parse_flops(flops[0], schema, flops[1]),
            launch=None if launch[0] is None else parse_launch(launch[0], schema, launch[1]),
        )

    @property
    def gradients(self) -> tuple[Derivative, ...]:
        """The derivatives, whichever way they were written."""
        return (self.backward.derivative,) if self.backward else self.derivatives

    @property
    def launch_texts(self) -> tuple[tuple[str, str], ...]:
        return tuple(self.launch.field().items()) if self.launch else ()

    def fields(self) -> dict[str, object]:
        """What `parse` takes, and turns into equal rules."""
        out = [rule.field() for rule in self.out if not isinstance(rule, FromKernel)]
        derivatives = {", ".join(item.arguments): str(item.formula) for item in self.derivatives}
        printed = {
            "out": out[0] if len(out) == 1 else out or None,
            "derivatives": derivatives or None,
            "backward": self.backward and self.backward.field(),
            **{key: None if value is None else str(value) for key, value in self._texts()},
            "launch": self.launch and self.launch.field(),
        }
        return {key: value for key, value in printed.items() if value is not None}

    def _texts(self) -> tuple[tuple[str, Batch | Shard | Expr | None], ...]:
        return (("batch", self.batch), ("shard", self.shard), ("flops", self.flops))


def _parse_flops(value: object, schema: Schema, place: Place) -> Expr:
    source = place.text(value, "flops: 2 * x.numel")
    expr = parse_expression(source.text, source.where)
    Lowering(schema, source).lower(expr, Kind.INT)
    return expr
