"""The shapes that a JSON Schema is taken apart into: Everit's classes (`org.everit.json.schema`), without what only
validation needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

MISSING: Final = object()
"""No default."""


class NodeKind(Enum):
    """Everit's classes."""

    BOOLEAN = "BooleanSchema"
    NUMBER = "NumberSchema"
    STRING = "StringSchema"
    NULL = "NullSchema"
    ENUM = "EnumSchema"
    CONST = "ConstSchema"
    ARRAY = "ArraySchema"
    OBJECT = "ObjectSchema"
    ALL_OF = "allOf"
    ANY_OF = "anyOf"
    ONE_OF = "oneOf"
    REFERENCE = "ReferenceSchema"
    NOT = "NotSchema"
    CONDITIONAL = "ConditionalSchema"
    EMPTY = "EmptySchema"
    TRUE = "TrueSchema"
    FALSE = "FalseSchema"

    @property
    def is_combined(self) -> bool:
        """True for `CombinedSchema`."""
        return self in (NodeKind.ALL_OF, NodeKind.ANY_OF, NodeKind.ONE_OF)


@dataclass(eq=False, slots=True, kw_only=True)
class Node:
    """A schema. Mutable while it is loaded: a reference gets its target last."""

    kind: NodeKind
    title: str | None = None
    description: str | None = None
    default: object = MISSING
    """Its default, as JSON; `MISSING` if it has none."""
    other: dict[str, object] = field(default_factory=dict)
    """The properties that are no keywords to Everit: Connect's."""
    is_integer: bool = False
    """Of a NUMBER: the type is "integer"."""
    values: Sequence[object] = ()
    """Of an ENUM."""
    parts: Sequence[Node] = ()
    """Of a combination, the combinations among them first."""
    properties: Mapping[str, Node] = field(default_factory=dict)
    """Of an OBJECT, in the order of Everit's HashMap."""
    required: frozenset[str] = frozenset()
    """Of an OBJECT."""
    additional: Node | None = None
    """Of an OBJECT: the schema of its additional properties, if there is one."""
    items: Node | None = None
    """Of an ARRAY: the schema of all items, if there is one."""
    knot: Node | None = None
    """Of a REFERENCE: what all references to one place share. Its own knot is the schema there."""

    @property
    def target(self) -> Node | None:
        """Of a REFERENCE: what it refers to."""
        return None if self.knot is None else self.knot.knot
