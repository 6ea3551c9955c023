"""Walks an Avro body without making values: with the limits that fastavro lacks, for the rare bodies that need it
(`guard_of`), and after a failure of fastavro, to name the error, the byte and the field."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Final

from srfix.serde.errors import DecodeError, PayloadBoundError, TruncatedBodyError
from srfix.serde.formats.avro.engine import BodyCheck, trailing_bytes
from srfix.serde.formats.avro.read.costs import Costs
from srfix.serde.formats.avro.schema import Analysis, AvroNode
from srfix.serde.java_ints import INT_MAX, INT_MIN

_SIZES: Final = {"null": 0, "float": 4, "double": 8}
_PARTS: Final = {"array": "ARRAY", "map": "MAP_VAL"}
"""The words for items and values in a path, as in ksqlDB."""
_KEY: Final = AvroNode(kind="string")
_MAX_VARINT_BYTES: Final = 10
_SHOWN_LABELS: Final = 8
"""The number of path parts shown at each end, because a deep path would fill pages."""


@dataclass(slots=True)
class _Path:
    above: _Path | None
    label: str

    def __str__(self) -> str:
        labels: list[str] = []
        at: _Path | None = self
        while at is not None:
            labels.insert(0, at.label)
            at = at.above
        labels = list(filter(None, labels))
        if len(labels) > 2 * _SHOWN_LABELS:
            left_out = f"… ({len(labels) - 2 * _SHOWN_LABELS} more)"
            labels = [*labels[:_SHOWN_LABELS], left_out, *labels[-_SHOWN_LABELS:]]
        return "->".join(labels) or "the root"


@dataclass(slots=True)
class _Task:
    node: AvroNode
    level: int
    path: _Path
    items_left: int | None = None
    """None: read the whole value. Otherwise the number of items left in the open block of this array or map."""


class _Skimmer:
    def __init__(self, payload: bytes, offset: int, costs: Costs) -> None:
        self._payload = payload
        self._start = offset
        self._at = offset
        self._empty_items = 0
        self._costs = costs
        self._levels = costs.bounds.levels
        self._budget = costs.bounds.budget(len(payload) - offset)
        self._spent = 0

    def run(self, root: AvroNode) -> int:
        """The offset after the value. The payload's size limits the work."""
        root_path = _Path(None, "")
        self._spend(self._costs.least(root), root_path)
        stack = [_Task(root, 1, root_path)]
        while stack:
            task = stack.pop()
            if task.level > self._levels:
                raise PayloadBoundError(
                    f"The body nests deeper than {self._levels} levels at byte {self._at - self._start}, at "
                    f"{task.path}; a reader that follows it would exhaust its stack.",
                    bound="levels",
                )
            self._step(task, stack)
        return self._at

    def _spend(self, values: int, path: _Path) -> None:
        self._spent += values
        if self._spent > self._budget:
            raise PayloadBoundError(
                f"At {path}, byte {self._at - self._start}, the body expands to more than {self._budget:,} values, the "
                f"limit for {len(self._payload) - self._start} bytes. It is hostile or corrupt, or you must raise the "
                "limits (srfix.serde.bounds: values, values_per_byte).",
                bound="values",
            )

    def _step(self, task: _Task, stack: list[_Task]) -> None:
        node, path = task.node, task.path
        if node.kind == "record":
            below = task.level + 1
            width = self._costs.width
            stack.extend(
                _Task(part.node, below, _Path(path, part.name)) for part in reversed(node.fields) if width(part.node)
            )
        elif node.kind == "union":
            index = self._index(len(node.branches), "union has branches", path)
            branch, least = node.branches[index], self._costs.least
            # The cost of the cheapest branch is already counted.
            self._spend(least(branch) - min(map(least, node.branches)), path)
            stack.append(_Task(branch, task.level + 1, path))
        elif node.kind == "enum":
            self._index(len(node.symbols), "enum has symbols", path)
        elif node.kind in ("array", "map"):
            self._items(task, stack)
        elif node.kind in ("string", "bytes"):
            self._text(node, path)
        elif node.kind == "int":
            self._int(path)
        elif node.kind == "long":
            self._varint(path)
        elif node.kind == "boolean":
            self._boolean(path)
        else:
            self._skip(node.size if node.kind == "fixed" else _SIZES[node.kind], path)
            if node.kind == "fixed" and node.logical == "decimal":
                self._decimal(node.size, path)

    def _items(self, task: _Task, stack: list[_Task]) -> None:
        if not task.items_left:
            count = self._varint(task.path)
            if count == 0:
                return
            if count < 0:
                count = -count
                self._varint(task.path)  # skips the block's size in bytes
            task.items_left = count
            self._open_block(task, count)
            if not task.items_left:
                stack.append(task)
                return
        item = task.node.items
        assert item is not None
        if task.node.kind == "map":
            self._text(_KEY, task.path)
        task.items_left -= 1
        stack.append(task)
        stack.append(_Task(item, task.level + 1, _Path(task.path, _PARTS[task.node.kind])))

    def _open_block(self, task: _Task, count: int) -> None:
        """Counts the items of a block before it reads one, and checks that the body can hold them."""
        width = self._costs.item_width(task.node)
        if width:
            count = min(count, (len(self._payload) - self._at) // width)
        else:
            self._empty_items += count
            most = self._costs.bounds.empty_items
            if self._empty_items > most:
                raise PayloadBoundError(
                    f"At {task.path}, byte {self._at - self._start}, the body claims {self._empty_items:,} array items "
                    f"of zero bytes; srfix reads at most {most:,}.",
                    bound="empty_items",
                )
            task.items_left = 0
        self._spend(count * self._costs.of_item(task.node), task.path)

    def _wrong(self, at: int, path: _Path, what: str) -> DecodeError:
        return DecodeError(f"At byte {at - self._start}, at {path}, the body has {what}")

    def _index(self, count: int, what: str, path: _Path) -> int:
        before = self._at
        index = self._varint(path)
        if not 0 <= index < count:
            raise self._wrong(before, path, f"the index {index}, but the {what} 0 to {count - 1}.")
        return index

    def _text(self, node: AvroNode, path: _Path) -> None:
        before, kind = self._at, node.kind
        size = self._varint(path)
        if size < 0:
            raise self._wrong(before, path, f"a {kind} of {size} bytes.")
        begin = self._at
        self._skip(size, path)
        if node.logical == "decimal":
            self._decimal(size, path)
        if kind == "string":
            try:
                self._payload[begin : self._at].decode()
            except UnicodeDecodeError as error:
                raise self._wrong(begin + error.start, path, "a string that is not UTF-8.") from error

    def _decimal(self, size: int, path: _Path) -> None:
        most = self._costs.bounds.decimal_bytes
        if size > most and self._costs.converts_decimals:
            raise PayloadBoundError(
                f"The decimal that ends at byte {self._at - self._start}, at {path}, has {size:,} bytes; srfix "
                f"converts at most {most:,}. It is hostile or corrupt, or you must raise the limit "
                "(srfix.serde.bounds: decimal_bytes).",
                bound="decimal_bytes",
            )

    def _int(self, path: _Path) -> None:
        before = self._at
        value = self._varint(path)
        if not INT_MIN <= value <= INT_MAX:
            raise self._wrong(before, path, f"an int of {value}, which needs more than 32 bits.")

    def _boolean(self, path: _Path) -> None:
        byte = self._byte(path)
        if byte > 1:
            raise self._wrong(self._at - 1, path, f"a boolean of the byte {byte}; it must be 0 or 1.")

    def _varint(self, path: _Path) -> int:
        value = shift = 0
        for _ in range(_MAX_VARINT_BYTES):
            byte = self._byte(path)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                value &= 0xFFFF_FFFF_FFFF_FFFF
                return (value >> 1) ^ -(value & 1)
        what = f"a number of more than {_MAX_VARINT_BYTES} bytes, but an int or a long never has so many."
        raise self._wrong(self._at - _MAX_VARINT_BYTES, path, what)

    def _byte(self, path: _Path) -> int:
        self._skip(1, path)
        return self._payload[self._at - 1]

    def _skip(self, size: int, path: _Path) -> None:
        left = len(self._payload) - self._at
        if size > left:
            raise TruncatedBodyError(
                f"The body ends at byte {len(self._payload) - self._start}, inside {path}: after byte "
                f"{self._at - self._start} there should be {size} bytes, but there are {left}."
            )
        self._at += size


# A block of -2⁶³ items: its negation is the same number, and fastavro treats it as no items.
_LEAST_LONG: Final = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"


def guard_of(costs: Costs) -> BodyCheck | None:
    """The check that bodies of a schema need; None if fastavro alone is safe."""
    analysis = Analysis(costs.root)
    safe_bytes = costs.safe_bytes
    if analysis.has_unbounded_arrays or safe_bytes < 0:
        return partial(check_body, costs)
    if analysis.is_recursive:
        # Each loop through the schema takes at least a byte, so a short body cannot nest deep.
        safe_bytes = min(safe_bytes, costs.bounds.levels // analysis.node_count)
    if safe_bytes < math.inf:
        return partial(_check_longer, costs, int(safe_bytes))
    return partial(_check_blocks, costs) if analysis.has_blocks else None


def check_body(costs: Costs, payload: bytes, body_offset: int) -> None:
    """:raises DecodeError: if the body is not exactly one value of the schema, within the limits."""
    end = _Skimmer(payload, body_offset, costs).run(costs.root)
    if end != len(payload):
        raise trailing_bytes(len(payload) - end, len(payload) - body_offset)


def _check_longer(costs: Costs, safe_bytes: int, payload: bytes, body_offset: int) -> None:
    if len(payload) - body_offset > safe_bytes or (255 in payload and _LEAST_LONG in payload):
        check_body(costs, payload, body_offset)


def _check_blocks(costs: Costs, payload: bytes, body_offset: int) -> None:
    # Searching for a single byte is much faster.
    if 255 in payload and _LEAST_LONG in payload:
        check_body(costs, payload, body_offset)
