"""The reader's copy of a writer schema, in fastavro's parsed form, renamed to a projection's columns.

Unlike fastavro.parse_schema's, a type that is referenced twice is the same dict, so a recursive schema is cyclic. A
union's branches, like an enum's symbols, stand under their numbers, so that a negative number is a KeyError and does
not count from the end. A boolean is an enum of the numbers that its bytes mean as a varint, so that any other byte is
also a KeyError.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final, cast

from srfix.serde.columns.types import Decimal, ScalarType
from srfix.serde.engine import Decode
from srfix.serde.errors import ColumnError, DecodeError, SchemaError
from srfix.serde.formats.avro.engine import BodyCheck, ParsedSchema, fastavro_decoder, shortest
from srfix.serde.formats.avro.read.body_walk import check_body, guard_of
from srfix.serde.formats.avro.read.costs import CONTAINER, Costs, text_cost
from srfix.serde.formats.avro.read.finish import (
    Finish,
    Target,
    chain,
    each_item,
    each_value,
    entries_to_dict,
    finish_row,
    finish_union,
    is_plain_int,
    null_as,
    refusal,
    unless_none,
)
from srfix.serde.formats.avro.read.leaves import (
    BOOLEAN_SYMBOLS,
    DECIMAL,
    INT,
    TIME_MICROS,
    TIME_MILLIS,
    ReadStep,
    for_array,
    head,
    leaf,
)
from srfix.serde.formats.avro.schema import AvroNode
from srfix.serde.formats.avro.write.scalars import default_body
from srfix.serde.formats.avro.writer_type import AvroType
from srfix.serde.interface import Value
from srfix.serde.projection.tree import Entries, Fields, Items, Projected, Projection, Refused, Scalar
from srfix.serde.projection.tree import Target as Fed

# Logical types whose values fastavro misreads.
_STRICT: Final[dict[tuple[str, str], str]] = {("int", "time-millis"): TIME_MILLIS, ("long", "time-micros"): TIME_MICROS}


@dataclass(kw_only=True, eq=False)
class FastavroPlan:
    """Makes the copies, and the decoders on them."""

    for_columns: bool
    """Fields without a column are read as raw values, so that a date that Python cannot hold does no harm there."""
    checks_ints: bool = False
    """Ints that are read without a column fail if they do not fit 32 bits."""
    bounds_decimals: bool = False
    """Decimals that are read without a column fail beyond the limit of their bytes."""
    as_values: bool = False
    """The root record becomes values for typed arrays (`values_decoder`)."""
    as_on_the_wire: bool = False
    """Columns' values are made from raw values, never by fastavro: slower, but with messages for what does not fit."""
    costs: Costs = field(init=False)
    """The costs of the decoder that was made last."""
    _surplus: dict[AvroNode, int] = field(default_factory=dict, init=False)
    """The values that are made for a type in addition to fastavro's value (`Costs`)."""
    _verbatim: dict[AvroNode, ParsedSchema] = field(default_factory=dict, init=False)

    def decoder(
        self, root: AvroNode, step: ReadStep, finish: Finish | None, *, explain: BodyCheck | None = None
    ) -> Decode:
        """`explain` gets a well-formed body that could not be read; it raises a better DecodeError, if it has one."""
        costs = self.costs = Costs(root, self._surplus)

        def explained(payload: bytes, body_offset: int) -> None:
            check_body(costs, payload, body_offset)
            if explain is not None:
                explain(payload, body_offset)

        return fastavro_decoder(
            step.schema | {"__fastavro_parsed": True, "__named_schemas": {}},
            guard=guard_of(costs),
            finish=finish,
            explain=explained,
        )

    def _add(self, node: AvroNode, cost: int) -> None:
        # A value feeds only one of the places of its type.
        self._surplus[node] = max(cost, self._surplus.get(node, 0))

    def verbatim(self, node: AvroNode) -> ParsedSchema:
        """The writer's type without renaming; for columns, without its logical types."""
        if node in self._verbatim:
            return self._verbatim[node]
        if node.kind == "boolean":
            return BOOLEAN_SYMBOLS
        schema = self._verbatim[node] = head(node, logical=self._logical(node))
        if node.kind == "record":
            schema["fields"] = [{"name": part.name, "type": shortest(self.verbatim(part.node))} for part in node.fields]
        elif node.kind == "union":
            schema.update({number: shortest(self.verbatim(branch)) for number, branch in enumerate(node.branches)})
        elif node.items is not None:
            schema["items" if node.kind == "array" else "values"] = shortest(self.verbatim(node.items))
        return schema

    def _logical(self, node: AvroNode) -> str | None:
        if self.checks_ints and is_plain_int(node):
            return INT
        if self.for_columns or node.logical is None:
            return None
        if self.bounds_decimals and node.logical == "decimal":
            return DECIMAL
        return _STRICT.get((node.kind, node.logical), node.logical)

    def rows(self, projection: Projection[AvroType]) -> ReadStep:
        """The root, as rows of columns or as the bare value. A body that is not a row is refused when it is read."""
        try:
            step, unfed = self._step(projection.root), projection.unfed
        except DecodeError as error:
            raise SchemaError(error.message) from error
        if unfed is None:
            return step
        return ReadStep(
            schema=step.schema, finish=unless_none(unfed.refuse) if projection.root.writer.is_nullable else unfed.refuse
        )

    def _step(self, value: Projected[AvroType], *, is_shared: bool = False, is_certain: bool = True) -> ReadStep:
        """The type, renamed and checked for its column; a raw value if it feeds several columns (`is_shared`).

        :param is_certain: False if a body may lack the value. Such a body needs none of its defaults.
        :raises DecodeError: if each body needs a default that does not fit its column.
        """
        writer = value.writer
        try:
            step = self._beside_null(value, is_shared=is_shared)
        except DecodeError as error:
            if is_certain and not writer.is_nullable:
                raise
            step = ReadStep(schema=self.verbatim(writer.value), finish=refusal(error))
        if writer.value is writer.node:
            return step
        schema: ParsedSchema = {"type": "union"}
        for number, part in enumerate(writer.node.branches):
            schema[number] = shortest(step.schema if part is writer.value else self.verbatim(part))
        finish = step.finish
        if finish is not None and writer.is_nullable and not step.is_refusal:
            finish = unless_none(finish)
        return ReadStep(schema=schema, finish=finish, is_refusal=step.is_refusal, is_int=step.is_int)

    def _beside_null(self, value: Projected[AvroType], *, is_shared: bool) -> ReadStep:
        match value.how:
            case Refused(reads_null=True):
                return ReadStep(schema=self.verbatim(value.writer.value), finish=unless_none(value.how.refuse))
            case Refused():
                return ReadStep(schema=self.verbatim(value.writer.value), finish=value.how.refuse, is_refusal=True)
            case Scalar():
                return leaf(value, value.how, is_shared=is_shared or self.as_on_the_wire)
            case Items(items):
                part = self._step(items, is_certain=False)
                finish = part.whole(items.path)
                return ReadStep(
                    schema={"type": "array", "items": shortest(part.schema)},
                    finish=None if finish is None else each_item(finish),
                )
            case Entries():
                return self._map(value.writer.value, value.how)
            case Fields():
                of_fields = self._union if value.writer.is_union else self._record
                return of_fields(value, value.how)

    def _map(self, node: AvroNode, entries: Entries[Projected[AvroType]]) -> ReadStep:
        values = self._step(entries.values, is_certain=False)
        value = values.whole(entries.values.path)
        if node.kind == "map":
            return ReadStep(
                schema={"type": "map", "values": shortest(values.schema)},
                finish=None if value is None else each_value(value),
            )
        keys = self._step(entries.keys)
        assert node.items is not None
        parts = {"key": shortest(keys.schema), "value": shortest(values.schema)}
        fields = [{"name": part.name, "type": parts[part.name]} for part in node.items.fields]
        items: ParsedSchema = {"type": "record", "name": node.items.name, "fields": fields}
        return ReadStep(
            schema={"type": "array", "items": items}, finish=entries_to_dict(keys.whole(entries.keys.path), value)
        )

    def _record(self, value: Projected[AvroType], of: Fields[AvroType]) -> ReadStep:
        node, fed = value.writer.value, of.by_field()
        as_values = self.as_values and not value.path
        fields: list[dict[str, object]] = []
        ints: list[tuple[str, str]] = []
        finishes: list[tuple[str, Finish]] = []
        shared: list[tuple[str, tuple[Target, ...]]] = []
        for part in of.fields:
            targets = fed[part.number]
            # No column can have this name, because it cannot be declared.
            name = f"\0{part.number}"
            if not targets:
                step = ReadStep(schema=self.verbatim(part.type.node))
            elif len(targets) == 1 and targets[0].counts:
                name = targets[0].column.name
                step = self._field(targets[0].value)
                if as_values:
                    step = for_array(step, targets[0].column.type)
                if step.is_int:
                    ints.append((name, targets[0].value.path))
                elif step.finish is not None:
                    finishes.append((name, step.finish))
            else:
                step, made = self._share(targets)
                shared.append((name, made))
            fields.append({"name": name, "type": shortest(step.schema)})
        names = tuple(column.name for column in of.columns)
        is_as_read = names == tuple(cast("str", part["name"]) for part in fields)
        if not is_as_read:
            self._add(node, CONTAINER + len(names))
        finish = finish_row(
            ints=tuple(ints),
            finishes=tuple(finishes),
            shared=tuple(shared),
            absent={
                absent.column.name: None if absent.default is None else self._default(node, absent.default)
                for absent in of.absent
            },
            picks=None if is_as_read else names,
            as_values=as_values,
        )
        return ReadStep(schema={"type": "record", "name": node.name, "fields": fields}, finish=finish)

    def _field(self, value: Projected[AvroType], *, is_shared: bool = False, is_certain: bool = True) -> ReadStep:
        default = cast("Value", value.default)
        # The raw value is read, so that default and values are converted in the same way.
        step = self._step(value, is_shared=is_shared or default is not None, is_certain=is_certain)
        if default is None:
            return step
        finish = step.whole(value.path)
        made = default if finish is None else finish(default)
        if isinstance(made, str | bytes):
            self._add(value.writer.node, text_cost(len(made)))
        return ReadStep(schema=step.schema, finish=null_as(made, finish))

    def _share(
        self, targets: tuple[Fed[AvroType], ...], *, is_certain: bool = True
    ) -> tuple[ReadStep, tuple[Target, ...]]:
        """One field for several columns, or for a column that a later field feeds: its type is checked nevertheless."""
        types = {target.column.type for target in targets}
        if len(types) == 1:
            # One function reads the value for all columns, because a function for a value with parts may change its argument.
            step = self._field(targets[0].value, is_certain=is_certain)
            columns = tuple(target.column.name for target in targets if target.counts)
            return step, ((columns, step.whole(targets[0].value.path)),)
        if not all(isinstance(type_, ScalarType | Decimal) for type_ in types):
            raise ColumnError(
                "Under the rule 'ksqldb-2020' one field feeds the columns "
                f"{', '.join(repr(target.column.name) for target in targets)}, but their types differ and are not all "
                "scalar. Declare them with the same type, or leave one out."
            )
        steps = [self._field(target.value, is_shared=True) for target in targets]
        made = tuple(
            ((target.column.name,), step.whole(target.value.path)) for target, step in zip(targets, steps, strict=True)
        )
        return steps[-1], made

    def _union(self, value: Projected[AvroType], of: Fields[AvroType]) -> ReadStep:
        node, fed = value.writer.value, of.by_field()
        schema: ParsedSchema = {"type": "union"} | dict.fromkeys(range(len(node.branches)), "null")
        refusals: list[Finish] = []
        made: dict[str, tuple[Target, ...]] = {}
        for branch in of.fields:
            name, part = f"\0{branch.number}", self.verbatim(branch.type.node)
            if targets := fed[branch.number]:
                step, made[name] = self._share(targets, is_certain=False)
                part = step.schema
                if step.is_refusal and not of.is_choice:
                    refusals += [finish for _, finish in made[name] if finish is not None]
            elif branch.number in of.unresolved:
                made[name] = (((), of.unresolved[branch.number].refuse),)
            # The bytes are those of the branch, and the value comes with the branch's name.
            fields = [{"name": name, "type": shortest(part)}]
            schema[branch.number] = {"type": "record", "name": name, "fields": fields}
        self._add(node, 2 * CONTAINER + 1 + len(of.columns))
        finish = finish_union(names=tuple(column.name for column in of.columns), refusals=tuple(refusals), targets=made)
        if of.is_choice:
            finish = chain(finish, itemgetter(of.columns[0].name))
        return ReadStep(schema=schema, finish=unless_none(finish) if value.writer.is_nullable else finish)

    def _default(self, node: AvroNode, default: Fed[AvroType]) -> Value:
        reader_field, plan = default.field, FastavroPlan(for_columns=True)
        body = default_body(reader_field)
        try:
            step = plan._field(default.value)
            value = plan.decoder(reader_field.type.node, step, step.whole(default.value.path))(body, 0)
        except DecodeError as error:
            error.args = (f"The default of the field {reader_field.name} cannot be read: {error.message}",)
            raise
        self._add(node, text_cost(len(repr(reader_field.default))))
        return value
