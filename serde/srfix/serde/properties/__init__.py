"""Client properties for Kafka and for the registry: which there are, and clients made of them."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
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
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "client_file": ["ClientFile", "read_client_file", "settled"],
            "java": ["LoginModule", "parse_jaas"],
            "kafka": ["laid_over", "to_librdkafka", "together"],
            "kafka_client": ["DECIDED_HERE", "UNUSED_GROUP", "Isolation", "ReadOnlyClient"],
            "kafka_java": ["to_java"],
            "registry": [
                "RegistrySettings",
                "answer_bounds",
                "is_registry_property",
                "open_registry",
                "registry_settings",
                "short_names",
            ],
            "settings_table": ["Setting", "fields_of", "taken_by"],
        },
    )
