"""How many values a schema's bodies can make (`PayloadBounds`). If no array item or map entry costs more than the
budget allows for its bytes, no body is checked. Otherwise bodies up to `safe_bytes` cannot exceed the budget, and
longer ones are counted before fastavro.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Container, Mapping
from types import MappingProxyType
from typing import Final

from srfix.serde.bounds import payload_bounds
from srfix.serde.errors import SchemaError
from srfix.serde.formats.avro.schema import AvroNode

CONTAINER: Final = 4
"""The cost of an array, a map or a record without its parts."""
_ENTRY: Final = 2
"""The cost of a map's entry without its value."""
_CHARACTERS: Final = 32
SURPLUS_OF_NOTHING: Final[Mapping[AvroNode, int]] = MappingProxyType({})
"""The surplus costs if values stay as the writer has them: none."""


def text_cost(size: int) -> int:
    """The cost of a text or bytes that come from the schema, not from the payload."""
    return size // _CHARACTERS


class Costs:
    def __init__(
        self,
        root: AvroNode,
        surplus: Mapping[AvroNode, int] = SURPLUS_OF_NOTHING,
        *,
        converts_decimals: bool = False,
    ) -> None:
        """`surplus`: what values of a type cost more, for rows made from them and replacements of null."""
        self.bounds = payload_bounds()
        self.converts_decimals = converts_decimals
        self.root = root
        self._surplus = surplus
        self._per_byte = self.bounds.values_per_byte
        self._open: set[AvroNode] = set()
        self._least: dict[AvroNode, int] = {}
        self._widths: dict[AvroNode, int] = {}
        self._excess: dict[AvroNode, int] = {}
        self._repeated: dict[AvroNode, bool] = {}
        try:
            self.safe_bytes = self._safe_bytes()
            """Bodies of up to this number of bytes stay within the budget; -1 if none does, infinite if all do."""
        except RecursionError as error:
            raise SchemaError("The schema's types nest too deep to be read safely.") from error

    def least(self, node: AvroNode) -> int:
        """The minimal cost of a value, with empty arrays and maps."""
        cost = self._least.get(node)  # asked for each part of each body
        return _settled(node, self._least, self._least_of) if cost is None else cost

    def _least_of(self, node: AvroNode) -> int:
        least = self._least
        fields = sum(least[part.node] for part in node.fields)
        return self._own_cost(node) + fields + min((least[branch] for branch in node.branches), default=0)

    def of_item(self, container: AvroNode) -> int:
        assert container.items is not None
        return self.least(container.items) + (_ENTRY if container.kind == "map" else 0)

    def item_width(self, container: AvroNode) -> int:
        assert container.items is not None
        return self.width(container.items) + (1 if container.kind == "map" else 0)

    def width(self, node: AvroNode) -> int:
        """The minimal number of bytes of a value."""
        width = self._widths.get(node)  # asked for each part of each body
        return _settled(node, self._widths, self._width_of) if width is None else width

    def _width_of(self, node: AvroNode) -> int:
        if node.kind == "record":
            return sum(self._widths[part.node] for part in node.fields)
        if node.kind == "union":
            return 1 + min((self._widths[branch] for branch in node.branches), default=0)
        return {"null": 0, "fixed": node.size, "float": 4, "double": 8}.get(node.kind, 1)

    def _own_cost(self, node: AvroNode) -> int:
        surplus = self._surplus.get(node, 0)
        match node.kind:
            case "record":
                return CONTAINER + surplus + sum(text_cost(len(part.name)) for part in node.fields)
            case "array" | "map":
                return CONTAINER + surplus
            case "enum":
                return 1 + surplus + text_cost(max(map(len, node.symbols), default=0))
            case "union":
                return surplus
            case _:
                return 1 + surplus

    def _safe_bytes(self) -> float:
        if self.bounds.values >= sys.maxsize:
            return math.inf
        most = self._excess_of(self.root)
        while left := [node for node in self._repeated if node not in self._excess]:
            for node in left:
                self._excess_of(node)
        ratio = 0.0
        for node, is_entry in self._repeated.items():
            excess = self._excess[node] + (_ENTRY - self._per_byte if is_entry else 0)
            if excess > 0:
                width = self.width(node) + (1 if is_entry else 0)
                ratio = max(ratio, excess / width if width else math.inf)
        if most > self.bounds.values:
            return -1
        return (self.bounds.values - most) / ratio if ratio else math.inf

    def _excess_of(self, node: AvroNode) -> int:
        """How much a value can cost beyond the allowance for its bytes, without repeated parts (`_repeated`)."""
        excess = self._excess.get(node)
        if excess is not None:
            return excess
        if node in self._open:
            self._repeated.setdefault(node, False)
            return 0
        self._open.add(node)
        excess = self._own_cost(node)
        if node.kind == "record":
            excess += sum(self._excess_of(part.node) for part in node.fields)
        elif node.kind == "union":
            excess += max(map(self._excess_of, node.branches), default=0) - self._per_byte
        else:
            excess -= self._per_byte * self.width(node)
            if node.items is not None:
                # An array's item costs more per byte than a map's entry of the same type.
                self._repeated[node.items] = self._repeated.get(node.items, True) and node.kind == "map"
        self._open.discard(node)
        self._excess[node] = excess
        return excess


def _settled(node: AvroNode, numbers: dict[AvroNode, int], of: Callable[[AvroNode], int]) -> int:
    """A type's number from its parts' numbers (for recursive types, the smallest consistent one), and all below it."""
    nodes = _parts_first(node, numbers)
    numbers |= dict.fromkeys(nodes, 0)
    for _round in nodes:
        before = [numbers[type_node] for type_node in nodes]
        for type_node in nodes:
            numbers[type_node] = of(type_node)
        if before == [numbers[type_node] for type_node in nodes]:
            break
    return numbers[node]


def _parts_first(root: AvroNode, exclusions: Container[AvroNode]) -> list[AvroNode]:
    nodes: dict[AvroNode, None] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if node not in nodes and node not in exclusions:
            nodes[node] = None
            stack += node.parts
    return list(reversed(nodes))
