"""Avro bodies → rows."""

from srfix.serde.formats.avro.read.costs import CONTAINER, Costs, text_cost
from srfix.serde.formats.avro.read.decoder import left_to_python, values_decoder
from srfix.serde.formats.avro.read.finish import decimal_of_bytes
from srfix.serde.formats.avro.read.guard import check_body, guard_of
from srfix.serde.formats.avro.read.resolution import ReaderSchema, has_hints, resolved_root, usable_reader
from srfix.serde.formats.avro.read.times import far_time_check
