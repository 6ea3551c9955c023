"""Client properties for Kafka and for the registry: which there are, and clients made of them."""

from srfix.serde.properties.client_file import ClientFile, read_client_file, settled
from srfix.serde.properties.java import LoginModule, parse_jaas
from srfix.serde.properties.kafka import laid_over, to_librdkafka, together
from srfix.serde.properties.kafka_client import DECIDED_HERE, UNUSED_GROUP, Isolation, ReadOnlyClient
from srfix.serde.properties.kafka_java import to_java
from srfix.serde.properties.registry import (
    RegistrySettings,
    answer_bounds,
    is_registry_property,
    open_registry,
    registry_settings,
    short_names,
)
from srfix.serde.properties.settings_table import Setting, fields_of, taken_by
