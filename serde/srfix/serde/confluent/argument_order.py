"""Schema and client, which confluent-kafka's Avro and JSON serdes take in different orders."""

from __future__ import annotations

from typing import cast

from srfix.serde.columns.text import parse_columns
from srfix.serde.errors import ColumnError, UsageError
from srfix.serde.registries.confluent_schema import AnySchema
from srfix.serde.registries.given import AnyClient, is_registry


def check_no_columns(schema_str: object) -> None:
    """:raises UsageError: if columns stand where the schema belongs."""
    if not isinstance(schema_str, str) or schema_str.lstrip()[:1] in ("", "{", "[", '"'):
        return
    try:
        columns = parse_columns(schema_str)
    except ColumnError:
        return
    raise UsageError(
        f"schema_str holds columns ({columns[0].name}, …), and no schema. Pass them by name: columns='ID BIGINT, …'."
    )


def in_order(
    schema_str: AnySchema | AnyClient, schema_registry_client: AnyClient | None
) -> tuple[AnySchema, AnyClient | None]:
    """Schema and client of a JSON serde; a client in the schema's place counts where there is no other one.

    :raises UsageError: if the two are swapped, or there are two clients.
    """
    if not is_registry(schema_str):
        return cast("AnySchema", schema_str), schema_registry_client
    if schema_registry_client is None:
        return None, cast("AnyClient", schema_str)
    raise UsageError(
        "schema_str is a registry, and schema_registry_client is given too: confluent-kafka's JSON serdes take the schema "
        "first, its Avro ones the client. Pass both by name: schema_str=…, schema_registry_client=…."
    )
