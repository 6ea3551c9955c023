"""Converts bytes to rows and back, with the schemas, subjects and registries that this needs.

This is the front door: srfix promises to keep the names that it exports; all other modules are internal, whatever their
names. Beside it stand `srfix.serde.confluent` (confluent-kafka's own constructors), `srfix.serde.arrow`,
`srfix.serde.spark`, and the registry's models and errors (`srfix.serde.schemas.models`, `srfix.serde.schemas.errors`).
A name is loaded at its first use: a program that only explains an error loads no codec and no HTTP client.
"""

import inspect
from typing import TYPE_CHECKING

import lazy_loader

import srfix.serde.errors as errors

if TYPE_CHECKING:
    from srfix.serde.batches.rows import deserialize_many as deserialize_many
    from srfix.serde.casing import CaseRule as CaseRule
    from srfix.serde.column_sources.from_json import columns_from_json as columns_from_json
    from srfix.serde.column_sources.from_spark import columns_from_spark as columns_from_spark
    from srfix.serde.column_sources.from_spark import spark_schema as spark_schema
    from srfix.serde.column_sources.row_classes import columns_from_dataclass as columns_from_dataclass
    from srfix.serde.columns.compare import compare_columns as compare_columns
    from srfix.serde.columns.text import parse_columns as parse_columns
    from srfix.serde.columns.text import print_columns as print_columns
    from srfix.serde.columns.types import Column as Column
    from srfix.serde.columns.types import Columns as Columns
    from srfix.serde.compatibility import CompatibilityLevel as CompatibilityLevel
    from srfix.serde.compatibility import incompatibilities as incompatibilities
    from srfix.serde.connect.generations import Generation as Generation
    from srfix.serde.connect.generations import WrittenBy as WrittenBy
    from srfix.serde.dataclass_deserializer import DataclassDeserializer as DataclassDeserializer
    from srfix.serde.deserializer import AvroDeserializer as AvroDeserializer
    from srfix.serde.deserializer import DelimitedDeserializer as DelimitedDeserializer
    from srfix.serde.deserializer import JsonDeserializer as JsonDeserializer
    from srfix.serde.deserializer import JsonSchemaDeserializer as JsonSchemaDeserializer
    from srfix.serde.deserializer import KafkaDeserializer as KafkaDeserializer
    from srfix.serde.deserializer import NoneDeserializer as NoneDeserializer
    from srfix.serde.deserializer import ProtobufDeserializer as ProtobufDeserializer
    from srfix.serde.deserializer import ProtobufNoSrDeserializer as ProtobufNoSrDeserializer
    from srfix.serde.deserializer import SchemaDeserializer as SchemaDeserializer
    from srfix.serde.deserializer import WindowedDeserializer as WindowedDeserializer
    from srfix.serde.errors import AccessDeniedError as AccessDeniedError
    from srfix.serde.errors import AmbiguousFieldError as AmbiguousFieldError
    from srfix.serde.errors import BadRowError as BadRowError
    from srfix.serde.errors import CasingError as CasingError
    from srfix.serde.errors import ClusterError as ClusterError
    from srfix.serde.errors import CoercionError as CoercionError
    from srfix.serde.errors import ColumnError as ColumnError
    from srfix.serde.errors import ColumnNotFedError as ColumnNotFedError
    from srfix.serde.errors import DataLossError as DataLossError
    from srfix.serde.errors import DecodeError as DecodeError
    from srfix.serde.errors import DualSubjectError as DualSubjectError
    from srfix.serde.errors import EncodeError as EncodeError
    from srfix.serde.errors import EngineRefusedError as EngineRefusedError
    from srfix.serde.errors import ImpossibleSchemaIdError as ImpossibleSchemaIdError
    from srfix.serde.errors import IncompatibleTypeError as IncompatibleTypeError
    from srfix.serde.errors import JarMissingError as JarMissingError
    from srfix.serde.errors import MalformedHeaderError as MalformedHeaderError
    from srfix.serde.errors import NoSubjectError as NoSubjectError
    from srfix.serde.errors import NothingFedError as NothingFedError
    from srfix.serde.errors import OutOfRangeError as OutOfRangeError
    from srfix.serde.errors import PayloadBoundError as PayloadBoundError
    from srfix.serde.errors import PayloadTooShortError as PayloadTooShortError
    from srfix.serde.errors import Reason as Reason
    from srfix.serde.errors import RegistryError as RegistryError
    from srfix.serde.errors import ResolveError as ResolveError
    from srfix.serde.errors import SchemaError as SchemaError
    from srfix.serde.errors import SecretError as SecretError
    from srfix.serde.errors import SparkError as SparkError
    from srfix.serde.errors import SrfixError as SrfixError
    from srfix.serde.errors import SubjectVersionError as SubjectVersionError
    from srfix.serde.errors import TimeUnitError as TimeUnitError
    from srfix.serde.errors import TrailingBytesError as TrailingBytesError
    from srfix.serde.errors import TruncatedBodyError as TruncatedBodyError
    from srfix.serde.errors import UnknownMagicByteError as UnknownMagicByteError
    from srfix.serde.errors import UsageError as UsageError
    from srfix.serde.errors import WireError as WireError
    from srfix.serde.errors import WorkerPackageError as WorkerPackageError
    from srfix.serde.formats.avro.format import columns_from_avro as columns_from_avro
    from srfix.serde.formats.json_schema.format import columns_from_json_schema as columns_from_json_schema
    from srfix.serde.formats.protobuf.format import columns_from_protobuf as columns_from_protobuf
    from srfix.serde.interface import BadRow as BadRow
    from srfix.serde.interface import Deserializer as Deserializer
    from srfix.serde.interface import OnError as OnError
    from srfix.serde.interface import SerdeContext as SerdeContext
    from srfix.serde.interface import Serializer as Serializer
    from srfix.serde.properties.client_file import ClientFile as ClientFile
    from srfix.serde.properties.client_file import read_client_file as read_client_file
    from srfix.serde.registry.client import RegistryClient as RegistryClient
    from srfix.serde.registry.http.retry import RetryPolicy as RetryPolicy
    from srfix.serde.registry.http.tls import ClientCertificate as ClientCertificate
    from srfix.serde.registry.http.tls import ClientCertificateText as ClientCertificateText
    from srfix.serde.registry.secret import BasicAuth as BasicAuth
    from srfix.serde.registry.secret import BearerAuth as BearerAuth
    from srfix.serde.registry.secret import Secret as Secret
    from srfix.serde.resolve.policies import ById as ById
    from srfix.serde.resolve.policies import DualSubject as DualSubject
    from srfix.serde.resolve.policies import UnderOneSubject as UnderOneSubject
    from srfix.serde.resolve.resolved import RefusedRegistration as RefusedRegistration
    from srfix.serde.resolve.resolved import ResolvedSchema as ResolvedSchema
    from srfix.serde.resolve.resolved import SecondAnswered as SecondAnswered
    from srfix.serde.schemas.models import Schema as Schema
    from srfix.serde.schemas.models import SchemaReference as SchemaReference
    from srfix.serde.serializer import AvroSerializer as AvroSerializer
    from srfix.serde.serializer import DelimitedSerializer as DelimitedSerializer
    from srfix.serde.serializer import JsonSchemaSerializer as JsonSchemaSerializer
    from srfix.serde.serializer import JsonSerializer as JsonSerializer
    from srfix.serde.serializer import KafkaSerializer as KafkaSerializer
    from srfix.serde.serializer import NoneSerializer as NoneSerializer
    from srfix.serde.serializer import ProtobufNoSrSerializer as ProtobufNoSrSerializer
    from srfix.serde.serializer import ProtobufSerializer as ProtobufSerializer
    from srfix.serde.serializer import WindowedSerializer as WindowedSerializer
    from srfix.serde.specs import ReaderSchema as ReaderSchema
    from srfix.serde.subjects.names import Role as Role
    from srfix.serde.subjects.names import Subject as Subject
    from srfix.serde.subjects.names import Topic as Topic
    from srfix.serde.subjects.strategies import ApartFromTopicSubject as ApartFromTopicSubject
    from srfix.serde.subjects.strategies import Changelog as Changelog
    from srfix.serde.subjects.strategies import ChangelogSubject as ChangelogSubject
    from srfix.serde.subjects.strategies import FixedSubject as FixedSubject
    from srfix.serde.subjects.strategies import MappedSubject as MappedSubject
    from srfix.serde.subjects.strategies import RecordSubject as RecordSubject
    from srfix.serde.subjects.strategies import TemplateSubject as TemplateSubject
    from srfix.serde.subjects.strategies import TopicRecordSubject as TopicRecordSubject
    from srfix.serde.subjects.strategies import TopicSubject as TopicSubject
    from srfix.serde.version import __version__ as __version__
    from srfix.serde.windowed import Window as Window
    from srfix.serde.windowed import WindowedKey as WindowedKey
    from srfix.serde.windowed import WindowKind as WindowKind
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "batches.rows": ["deserialize_many"],
            "casing": ["CaseRule"],
            "column_sources.from_json": ["columns_from_json"],
            "column_sources.from_spark": ["columns_from_spark", "spark_schema"],
            "column_sources.row_classes": ["columns_from_dataclass"],
            "columns.compare": ["compare_columns"],
            "columns.text": ["parse_columns", "print_columns"],
            "columns.types": ["Column", "Columns"],
            "compatibility": ["CompatibilityLevel", "incompatibilities"],
            "dataclass_deserializer": ["DataclassDeserializer"],
            "deserializer": [
                "AvroDeserializer",
                "DelimitedDeserializer",
                "JsonDeserializer",
                "JsonSchemaDeserializer",
                "KafkaDeserializer",
                "NoneDeserializer",
                "ProtobufDeserializer",
                "ProtobufNoSrDeserializer",
                "SchemaDeserializer",
                "WindowedDeserializer",
            ],
            "errors": [
                name
                for name, kind in vars(errors).items()
                if inspect.isclass(kind) and kind.__module__ == errors.__name__
            ],
            "formats.avro.format": ["columns_from_avro"],
            "formats.json_schema.format": ["columns_from_json_schema"],
            "formats.protobuf.format": ["columns_from_protobuf"],
            "connect.generations": ["Generation", "WrittenBy"],
            "interface": ["BadRow", "Deserializer", "OnError", "SerdeContext", "Serializer"],
            "properties.client_file": ["ClientFile", "read_client_file"],
            "registry.client": ["RegistryClient"],
            "registry.http.retry": ["RetryPolicy"],
            "registry.http.tls": ["ClientCertificate", "ClientCertificateText"],
            "schemas.models": ["Schema", "SchemaReference"],
            "registry.secret": ["BasicAuth", "BearerAuth", "Secret"],
            "resolve.policies": ["ById", "DualSubject", "UnderOneSubject"],
            "resolve.resolved": ["RefusedRegistration", "ResolvedSchema", "SecondAnswered"],
            "serializer": [
                "AvroSerializer",
                "DelimitedSerializer",
                "JsonSchemaSerializer",
                "JsonSerializer",
                "KafkaSerializer",
                "NoneSerializer",
                "ProtobufNoSrSerializer",
                "ProtobufSerializer",
                "WindowedSerializer",
            ],
            "specs": ["ReaderSchema"],
            "subjects.names": ["Role", "Subject", "Topic"],
            "subjects.strategies": [
                "ApartFromTopicSubject",
                "Changelog",
                "ChangelogSubject",
                "FixedSubject",
                "MappedSubject",
                "RecordSubject",
                "TemplateSubject",
                "TopicRecordSubject",
                "TopicSubject",
            ],
            "version": ["__version__"],
            "windowed": ["Window", "WindowKind", "WindowedKey"],
        },
    )
