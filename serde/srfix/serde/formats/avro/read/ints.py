"""Checks the ints of a body that was read without columns, because fastavro reads 64 bits for an int of 32."""

from __future__ import annotations

from srfix.serde.formats.avro.read.finish import Finish, Read, check_int, finish_row, int_error, unless_none
from srfix.serde.formats.avro.schema import AvroNode, analyse, nullable_branch
from srfix.serde.java_ints import INT_MAX, INT_MIN

_READ_AS_OTHER = frozenset({"date", "time-millis"})
"""With these logical types, fastavro itself fails if the value does not fit 32 bits."""


def int_check(root: AvroNode) -> Finish | None:
    """Refuses a value with an int beyond 32 bits; None if there are no ints. Not for a root that `hides_ints`."""
    return _walk(root) if analyse(root).is_recursive else _of(root, "")


def hides_ints(root: AvroNode) -> bool:
    """Whether an int stands in a union of several types beside null: only the reader knows a value's branch."""
    seen: set[tuple[AvroNode, bool]] = set()
    stack = [(root, False)]
    while stack:
        node, in_union = stack.pop()
        if (node, in_union) in seen:
            continue
        seen.add((node, in_union))
        if in_union and is_plain_int(node):
            return True
        below = in_union or (node.kind == "union" and nullable_branch(node) is None)
        parts = (*node.branches, *(part.node for part in node.fields), *((node.items,) if node.items else ()))
        stack.extend((part, below) for part in parts)
    return False


def is_plain_int(node: AvroNode) -> bool:
    """True for an int that is read as a number."""
    return node.kind == "int" and node.logical not in _READ_AS_OTHER


def _walk(root: AvroNode) -> Finish:
    """A check without recursion, for recursive schemas, whose values may nest to any depth."""

    def check(value: Read) -> Read:
        stack = [(root, value)]
        while stack:
            node, part = stack.pop()
            branch = nullable_branch(node)
            if part is None or branch is None:
                continue
            kind = branch[0]
            if kind.kind == "record":
                row = part
                stack.extend((field.node, row[field.name]) for field in kind.fields)
            elif kind.items is not None:
                items = part if kind.kind == "array" else part.values()
                stack.extend((kind.items, item) for item in items)
            elif _is_int(kind) and not INT_MIN <= part <= INT_MAX:
                raise int_error(part, "")
        return value

    return check


def _of(node: AvroNode, path: str) -> Finish | None:
    branch = nullable_branch(node)
    if branch is None:
        return None
    value = branch[0]
    check = _of_value(value, path)
    return check if value is node or check is None or _is_int(value) else unless_none(check)


def _of_value(node: AvroNode, path: str) -> Finish | None:
    if _is_int(node):
        return check_int(path)
    if node.kind == "record":
        ints = tuple((part.name, f"{path}->{part.name}") for part in node.fields if _is_int(part.node))
        checks = ((part, _of(part.node, f"{path}->{part.name}")) for part in node.fields if not _is_int(part.node))
        finishes = tuple((part.name, check) for part, check in checks if check is not None)
        return finish_row(ints=ints, finishes=finishes, shared=(), absent={}, picks=None)
    if node.items is None:
        return None
    is_array = node.kind == "array"
    check = _of(node.items, f"{path}->ARRAY" if is_array else f"{path}->MAP_VAL")
    return None if check is None else _items(check) if is_array else _values(check)


def _is_int(node: AvroNode) -> bool:
    branch = nullable_branch(node)
    return branch is not None and is_plain_int(branch[0])


def _items(check: Finish) -> Finish:
    def check_items(value: Read) -> Read:
        for item in value:
            check(item)
        return value

    return check_items


def _values(check: Finish) -> Finish:
    def check_values(value: Read) -> Read:
        for part in value.values():
            check(part)
        return value

    return check_values
