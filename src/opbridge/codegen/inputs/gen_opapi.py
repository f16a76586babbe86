"""Read `gen_opapi`: kernels that are generated from descriptions of their outputs and of the function they call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from opbridge.base.errors import Location, ManifestError, did_you_mean
from opbridge.base.names import is_identifier
from opbridge.codegen.backend import OpapiCall, Output
from opbridge.codegen.expressions import items, unknown_names
from opbridge.codegen.inputs.dialect_reader import Anything, Path_, Source, names_in, texts
from opbridge.waist.manifest.field_kinds import ByForm, Kind, Table, Text
from opbridge.waist.schema import Schema

_VALUE = ByForm(Text("a value"), Anything(), Anything())
KIND: Kind = Table(ByForm(Text("a value"), Table(_VALUE, "a mapping"), Anything()), "a mapping")
"""A list is always an unknown field."""

_KEYS = ("exec", "new_params", "structured_inherit")
_OUTPUT_KEYS = ("size", "dtype", "name")


@dataclass(frozen=True, slots=True)
class Description:
    """One `gen_opapi` as it is written."""

    outputs: tuple[Output, ...]
    variables: tuple[tuple[str, str], ...]
    execute: tuple[str, ...]
    """The library's function, and its arguments if they differ from those of the operator."""
    inherits: str | None
    """The out variant whose description also applies here."""
    places: Mapping[str, Location]
    """The places of each output and variable, and of `exec`; an empty name represents the whole."""

    @property
    def where(self) -> Location:
        """The place of the whole description."""
        return self.places[""]


def description(source: Source, path: Path_, given: object) -> Description | None:
    """Read one description; None if there is none, or none that can be used."""
    if not isinstance(given, dict):
        return None
    path = (*path, "gen_opapi")
    outputs = {name: texts(value) for name, value in given.items() if isinstance(value, dict) and name != "new_params"}
    for name in outputs:
        for unknown in sorted(set(given[name]) - set(_OUTPUT_KEYS)):
            known = f"known keys: {', '.join(_OUTPUT_KEYS)}"
            source.refuse_unknown(unknown, did_you_mean(unknown, _OUTPUT_KEYS), known, *path, name, unknown)
    plain = texts(given)
    for unknown in sorted(set(given) - set(_KEYS) - set(outputs) - {"new_params"}):
        known = "an output is a mapping with `size`, `dtype` and `name`"
        source.refuse_unknown(unknown, did_you_mean(unknown, _KEYS), known, *path, unknown)
    if "exec" not in plain and "structured_inherit" not in plain:
        hint = "name the function that it calls, or another entry in `structured_inherit`"
        source.refuse("`exec` is missing from gen_opapi", source.at(*path), hint)
        return None
    variables = texts(given.get("new_params"))
    places = {name: source.at(*path, name) for name in (*outputs, *plain)}
    places |= {name: source.at(*path, "new_params", name) for name in variables}
    return Description(
        tuple(
            Output(name, values.get("size"), values.get("dtype"), names_in(values.get("name")))
            for name, values in outputs.items()
        ),
        tuple(variables.items()),
        items(plain.get("exec", "")),
        plain.get("structured_inherit"),
        {**places, "": source.at(*path)},
    )


Described = tuple[Schema, Description]


def launch(source: Source, schema: Schema, own: Description, described: Mapping[str, Described]) -> OpapiCall:
    """Return the call that the kernel of `schema` makes.

    `described` has the descriptions to inherit from, by name and overload.
    """
    base, said = _inherited(schema, own, described)
    made = OpapiCall(_function(said), _arguments(base, said), said.outputs, said.variables)
    if base is not schema:
        made = _renamed(made, _renaming(schema, base, own))
    made = replace(made, outputs=_ordered(schema, made.outputs, own))
    _check_names(source, schema, made, said if base is schema else own)
    return made


def _inherited(schema: Schema, own: Description, described: Mapping[str, Described]) -> Described:
    if own.inherits is None:
        return schema, own
    where = own.places["structured_inherit"]
    if own.inherits not in described:
        message = f"{schema.full_name} inherits from {own.inherits}, which has no gen_opapi"
        raise ManifestError(message, where, did_you_mean(own.inherits, described))
    base, said = described[own.inherits]
    if said.inherits is not None:
        hint = f"write structured_inherit: {said.inherits}"
        raise ManifestError(f"{own.inherits} has only inherited its gen_opapi itself", where, hint)
    return base, said


def _function(said: Description) -> str:
    function = said.execute[0] if said.execute else ""
    if not is_identifier(function):
        hint = "write the name of a C function, followed by its arguments where they differ from those of the operator"
        raise ManifestError(f"expected a function in `exec`, got '{function}'", said.places["exec"], hint)
    return function


def _arguments(schema: Schema, said: Description) -> tuple[str, ...]:
    if len(said.execute) > 1:
        return said.execute[1:]
    names = [argument.name for argument in schema.arguments]
    return (*names, *(output.name for output in said.outputs if output.name not in names))


def _renaming(schema: Schema, base: Schema, own: Description) -> dict[str, str]:
    """Return new names for the outputs of an out variant: an in-place variant writes to the tensor that it reads."""
    names = [argument.name for argument in schema.arguments]
    lacking = [argument.name for argument in base.out_arguments if argument.name not in names]
    written = [argument.name for argument in schema.mutable_arguments]
    if not written:
        return {}
    if len(written) != len(lacking):
        message = f"{schema.full_name} writes to {len(written)} tensors and {base.full_name} to {len(lacking)}"
        raise ManifestError(message, own.where, "describe it by itself")
    return dict(zip(lacking, written, strict=True))


def _renamed(launch: OpapiCall, names: Mapping[str, str]) -> OpapiCall:
    arguments = tuple(names.get(name, name) for name in launch.arguments)
    outputs = tuple(_renamed_output(output, names) for output in launch.outputs)
    return replace(launch, arguments=arguments, outputs=outputs)


def _renamed_output(output: Output, names: Mapping[str, str]) -> Output:
    size, dtype = (text and names.get(text, text) for text in (output.size, output.dtype))
    return replace(output, name=names.get(output.name, output.name), size=size, dtype=dtype)


def _ordered(schema: Schema, outputs: tuple[Output, ...], own: Description) -> tuple[Output, ...]:
    """Check the outputs: new ones have the order of the schema's returns, each with a size and a dtype."""
    arguments = {argument.name: argument for argument in schema.arguments}
    for output in outputs:
        known = arguments.get(output.name)
        if known is not None and not (known.mutable and known.is_tensor):
            message = f"{schema.full_name} does not write to its argument '{output.name}'"
            raise ManifestError(message, own.places.get(output.name, own.where), "give the output another name")
    new = [output for output in outputs if output.name not in arguments]
    count = len(schema.new_outputs)
    if any(str(return_.type) != "Tensor" for return_ in schema.returns):
        message = f"{schema.full_name} returns more than tensors; its kernel cannot be generated"
        raise ManifestError(message, own.where, "leave out gen_opapi, and write its kernel")
    if len(new) != count:
        message = f"{schema.full_name} returns {count} new tensors, and {len(new)} are described"
        raise ManifestError(message, own.where, _described_hint(schema, new))
    for output in new:
        for key, text in (("size", output.size), ("dtype", output.dtype)):
            if text is None:
                where = own.places.get(output.name, own.where)
                raise ManifestError(f"`{key}` is missing from the output '{output.name}'", where, "it is to be made")
    return outputs


def _described_hint(schema: Schema, new: Iterable[Output]) -> str:
    written = [argument.name for argument in schema.mutable_arguments]
    near = next(filter(None, (did_you_mean(output.name, written) for output in new)), "")
    return near or "describe each, in the schema's order"


def _check_names(source: Source, schema: Schema, launch: OpapiCall, said: Description) -> None:
    arguments = {argument.name for argument in schema.arguments}
    variables = [name for name, _ in launch.variables]
    known = arguments | {output.name for output in launch.outputs} | set(variables)
    for name in variables:
        if name in arguments:
            message = f"'{name}' is an argument of {schema.full_name} already"
            source.refuse(message, said.places.get(name, said.where), "give the variable another name")
    new = {output.name for output in launch.outputs} - arguments
    for name, text in _expressions(launch):
        there = known - {name} if name in new else known
        for unknown in unknown_names(text, there):
            place = said.places.get(name, said.where)
            hint = did_you_mean(unknown, there) or f"names: {', '.join(sorted(there))}"
            source.refuse(f"{schema.full_name} has nothing named '{unknown}'", place, hint)


def _expressions(launch: OpapiCall) -> Iterator[tuple[str, str]]:
    """Yield every expression with the name that it is written under."""
    for output in launch.outputs:
        yield from ((output.name, text) for text in (output.size, output.dtype, *output.named_like) if text)
    yield from launch.variables
    yield from (("exec", argument) for argument in launch.arguments)
