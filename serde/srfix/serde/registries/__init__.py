"""Every form in which a registry may be given, as one that srfix asks."""

from srfix.serde.registries.confluent_client import ConfluentClient, ConfluentRegistry
from srfix.serde.registries.confluent_schema import AnySchema, given_schema, metadata_of, schema_from
from srfix.serde.registries.given import (
    AnyClient,
    GivenRegistry,
    Registry,
    given_registry,
    is_registry,
    portable,
    register,
    usable_registry,
    whole_registry,
)
