"""Every bound on what srfix reads from others: its default, and what it protects from.

A bound is changed here: whoever goes by one asks this module for it at that moment (`bounds.MOST_PLAN_BYTES`).
"""

from __future__ import annotations

from typing import Final

# Files that a person names (`srfix.serde.files`).

MOST_PLAN_BYTES: Final = 64 << 20
"""A plan file: a foreign file named by mistake is refused before it fills the memory."""
MOST_JOURNAL_BYTES: Final = 256 << 20
"""A journal; more than a plan, for it carries one and two states of a subject for each step."""
MOST_SETTINGS_BYTES: Final = 1 << 20
"""A configuration or properties file, a signature, a signer's key."""
MOST_SECRET_BYTES: Final = 1 << 20
"""What `file:PATH` names: a password, a token, a certificate with its chain."""
MOST_EVIDENCE_BYTES: Final = 64 << 20
"""A printed topology, a saved answer of ksqlDB, a schema, a `.checkpoint`."""
MOST_METADATA_BYTES: Final = 64 << 10
"""`kafka-streams-process-metadata`: some fifty bytes as Kafka Streams writes it."""
DEEPEST_DOCUMENT: Final = 100
"""Levels of a JSON document (plan, journal, metadata): deeper ones exhaust the stack of whoever walks through them."""
MOST_KEY_PARTS: Final = 100
"""Dots in one piece of a line of TOML: `tomllib` needs quadratic time for a key of many parts."""
