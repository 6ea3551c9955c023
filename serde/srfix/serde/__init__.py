"""Bytes to rows and back, with the schemas, subjects and registries that this takes."""

from srfix.serde.casing import CaseRule
from srfix.serde.columns import Column, Columns, columns_from_avro, parse_columns, print_columns
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import SrfixError
from srfix.serde.interface import SerdeContext
from srfix.serde.resolve import ById, DualSubject, ResolvedSchema, SecondAnswered, UnderOneSubject
from srfix.serde.serializer import AvroSerializer
from srfix.serde.subjects import ChangelogSubject, FixedSubject, Role, TopicSubject

__all__ = [
    "AvroDeserializer",
    "AvroSerializer",
    "ById",
    "CaseRule",
    "ChangelogSubject",
    "Column",
    "Columns",
    "DualSubject",
    "FixedSubject",
    "ResolvedSchema",
    "Role",
    "SecondAnswered",
    "SerdeContext",
    "SrfixError",
    "TopicSubject",
    "UnderOneSubject",
    "columns_from_avro",
    "parse_columns",
    "print_columns",
]
