"""What has to run before fastavro's reader: for the schemas by which a short body can do harm, or is read as another one."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

from srfix.serde.formats.avro.engine import BodyCheck, trailing_bytes
from srfix.serde.formats.avro.read.body_walk import skim
from srfix.serde.formats.avro.read.costs import Costs
from srfix.serde.formats.avro.schema import analyse

# A block of -2⁶³ items: negated it is itself, and fastavro takes it for none.
_LEAST_LONG: Final = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"


def guard_of(costs: Costs) -> BodyCheck | None:
    """The check that bodies of a schema need; None where fastavro alone is safe."""
    analysis = analyse(costs.root)
    safe_bytes = costs.safe_bytes
    if analysis.has_unbounded_arrays or safe_bytes < 0:
        return partial(check_body, costs)
    if analysis.is_recursive:
        # A loop through the schema costs a byte at least, so a short body cannot go deep.
        safe_bytes = min(safe_bytes, costs.bounds.levels // analysis.node_count)
    if safe_bytes < math.inf:
        return partial(_check_longer, costs, int(safe_bytes))
    return partial(_check_blocks, costs) if analysis.has_blocks else None


def check_body(costs: Costs, payload: bytes, body_offset: int) -> None:
    """:raises DecodeError: if the body is not exactly one value of the schema, within the bounds of `skim`."""
    end = skim(payload, body_offset, costs)
    if end != len(payload):
        raise trailing_bytes(len(payload) - end, len(payload) - body_offset)


def _check_longer(costs: Costs, safe_bytes: int, payload: bytes, body_offset: int) -> None:
    if len(payload) - body_offset > safe_bytes or (255 in payload and _LEAST_LONG in payload):
        check_body(costs, payload, body_offset)


def _check_blocks(costs: Costs, payload: bytes, body_offset: int) -> None:
    # A single byte is looked for much faster.
    if 255 in payload and _LEAST_LONG in payload:
        check_body(costs, payload, body_offset)
