"""What Java's configuration files hold: their syntax, ${…} references, JAAS entries, and key and trust stores as PEM."""

from srfix.serde.properties.java.file import PropertiesFile, read_properties_file
from srfix.serde.properties.java.jaas import LoginModule, parse_jaas
from srfix.serde.properties.java.providers import resolve_references
from srfix.serde.properties.java.sasl import from_jaas
from srfix.serde.properties.java.tls import OWN_KEY_NAMES, OWN_TRUST_NAMES, STORE_NAMES, from_stores
