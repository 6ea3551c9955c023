"""Rows → Avro bodies."""

from srfix.serde.formats.avro.write.defaults import default_body
from srfix.serde.formats.avro.write.kernel import native_fastavro_encoder
from srfix.serde.formats.avro.write.scalars import WHOLE_MILLISECONDS, scalar
from srfix.serde.formats.avro.write.tree import written
