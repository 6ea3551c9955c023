"""The only walk of a writer's schema along columns, as deep as these: so it ends even for a recursive schema."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from srfix.serde.casing import folded, placements
from srfix.serde.columns.half import only_column, struct_of
from srfix.serde.columns.times import with_times
from srfix.serde.columns.types import Array, Column, Columns, ColumnType, Decimal, Map, ScalarType, Struct
from srfix.serde.connect.coercions import coercion_of, incompatible, refusal_of_values
from srfix.serde.connect.schema import TIME_NAME
from srfix.serde.connect.time_units import MILLIS, TimeUnit, reads_units, refusal_in_unit
from srfix.serde.printable import path_words
from srfix.serde.projection import tree
from srfix.serde.projection.tree import W
from srfix.serde.specs import ReadSpec


def project(writer: W, spec: ReadSpec) -> tree.Projection[W]:
    """How bodies are read into a half's columns. With `times="integers"`, the tree has integer columns for times."""
    walk = _Walk(spec)
    columns = spec.known_columns
    shown = with_times(columns, spec.times)
    type_, declared = ((struct_of(half) if spec.wrapped else only_column(half).type) for half in (shown, columns))
    root = walk.value(writer, type_, "", declared)
    return tree.Projection(
        columns=shown,
        is_wrapped=spec.wrapped,
        root=root,
        unfed=_unfed(root, walk.absent, spec) if spec.wrapped else None,
    )


def _unfed(root: tree.Projected[W], absent: Sequence[str], spec: ReadSpec) -> tree.Unfed | None:
    if not isinstance(root.how, tree.Fields) or tree.has_rows_of_nulls(spec.case_rule, strict=spec.strict):
        return None
    columns = [column.name for column in root.how.columns]
    names = [part.column.name for part in root.how.absent if part.default is None]
    inside = [path for path in dict.fromkeys(absent) if path not in names]
    fields = [field.name for field in root.how.fields]
    return tree.unfed(columns, names, inside, fields, strict=spec.strict, what=root.writer.holder)


class _Walk:
    def __init__(self, spec: ReadSpec) -> None:
        self._spec = spec
        self._reads_units = reads_units(spec.case_rule)
        self.absent: list[str] = []
        """The paths of unfed columns, and of unfed fields within columns."""

    def value(self, writer: W, column: ColumnType, path: str, declared: ColumnType) -> tree.Projected[W]:
        """`declared` is the column's type with its times, which decides what can feed it."""
        writer = writer.under(column)
        unit = writer.unit if self._reads_units else None
        how = self._how(writer, column, path, unit, declared)
        default = None if isinstance(how, tree.Refused) else writer.default
        return tree.Projected(writer=writer, column=column, path=path, unit=unit, default=default, how=how)

    def _how(
        self, writer: W, column: ColumnType, path: str, unit: TimeUnit | None, declared: ColumnType
    ) -> tree.How[W]:
        if choices := writer.choices:
            return self._choice(choices, column, path, declared)
        connect = writer.connect
        if connect is None:
            return writer.refused(incompatible(writer.word, column, path))
        refused = refusal_in_unit(connect, unit, declared, path)
        if refused is not None:
            return writer.refused(refused)
        match column, declared:
            case Struct(fields), Struct(declared_fields):
                return self._fields(writer, fields, path, declared_fields)
            case Array(items), Array(declared_items):
                return tree.Items(self.value(writer.items(), items, f"{path}->ARRAY", declared_items))
            case Map(values, keys), Map(declared_values, declared_keys):
                key, value = writer.entries(path)
                return tree.Entries(
                    self.value(key, keys, f"{path}->MAP_KEY", declared_keys),
                    self.value(value, values, f"{path}->MAP_VAL", declared_values),
                )
            case ScalarType() | Decimal(), _:
                # A time that stays the written number is only a number, so the range of a day is not checked.
                is_left = column != declared or (self._spec.times == "integers" and writer.name == TIME_NAME)
                name = None if is_left else writer.name
                return tree.Scalar(
                    type=column,
                    connect=connect,
                    name=name,
                    coercion=coercion_of(connect, column),
                    per_second=MILLIS if unit is None else unit.per_second or MILLIS,
                    refusal=refusal_of_values(connect, name, column, path),
                )
            case _:
                raise AssertionError("a column and its declaration have the same parts")

    def _fields(self, writer: W, columns: Columns, path: str, declared: Columns) -> tree.Fields[W]:
        types = {column.name: column.type for column in declared}
        fields = writer.fields(path)
        unresolved = {
            field.number: tree.Refused(incompatible(field.type.word, Struct(columns), path))
            for field in fields
            if field.is_unresolved
        }
        resolved = [field for field in fields if not field.is_unresolved]
        placed = self._placed(writer, columns, resolved, writer.holder, path)
        targets = tuple(
            self.target(field, column, path, types[column.name], counts=counts) for field, column, counts in placed
        )
        filled = {target.column.name for target in targets}
        left = [column for column in columns if column.name not in filled]
        defaults = self._defaults(writer, columns, filled, path, types)
        self.absent += [path_words(f"{path}->{one.name}") for one in left if one.name not in defaults]
        absent = tuple(tree.Absent(column=column, default=defaults.get(column.name)) for column in left)
        return tree.Fields(columns=columns, fields=fields, targets=targets, absent=absent, unresolved=unresolved)

    def _choice(
        self, choices: Sequence[tree.WriterField[W]], column: ColumnType, path: str, declared: ColumnType
    ) -> tree.Fields[W]:
        only = Column("value", column)
        targets = tuple(
            tree.Target(field=field, column=only, counts=True, value=self.value(field.type, column, path, declared))
            for field in choices
        )
        return tree.Fields(columns=(only,), fields=choices, targets=targets, absent=(), is_choice=True)

    def target(
        self, field: tree.WriterField[W], column: Column, path: str, declared: ColumnType, *, counts: bool
    ) -> tree.Target[W]:
        value = self.value(field.type, column.type, f"{path}->{column.name}", declared)
        return tree.Target(field=field, column=column, counts=counts, value=value)

    def _defaults(
        self, writer: W, columns: Columns, filled: Collection[str], path: str, types: Mapping[str, ColumnType]
    ) -> dict[str, tree.Target[W]]:
        """The reader's defaults for the columns that the writer does not feed. Such a column must not get one that could also
        feed another column.
        """
        lacking = folded(column.name for column in columns if column.name not in filled)
        fields = [field for field in writer.defaults if folded((field.name,)) <= lacking]
        if not fields:
            return {}
        placed = self._placed(writer, columns, fields, "the reader's schema", path)
        # A field that is missing in a default says nothing about the writer.
        walk = _Walk(self._spec)
        return {
            column.name: walk.target(field, column, path, types[column.name], counts=counts)
            for field, column, counts in placed
            if counts and column.name not in filled
        }

    def _placed(
        self, writer: W, columns: Columns, fields: Sequence[tree.WriterField[W]], holder: str, path: str
    ) -> list[tuple[tree.WriterField[W], Column, bool]]:
        """Which field feeds which column, in the order of filling, and whether it is the column's last one."""
        by_name = writer.by_name(columns)
        by_field: defaultdict[str, list[tree.WriterField[W]]] = defaultdict(list)
        for field in fields:
            by_field[field.name].append(field)
        where = f"{holder} at {path_words(path)}" if path else holder
        placed = placements(tuple(by_name), tuple(by_field), self._spec.case_rule, where=where)
        last = {name: field for field, name in placed}
        return [(one, by_name[name], last[name] == field) for field, name in placed for one in by_field[field]]
