"""Which engine reads, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from srfix.serde.spark.read.jvm.read import JvmRead


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChoice:
    """An engine, and why it is this one. Its text says both."""

    engine: Literal["arrow", "jvm"]
    """What decodes."""
    fallback: bool
    """The arrow engine reads what the jvm engine's plan knows nothing about: schema ids born later, GUIDs."""
    why: str
    """A sentence."""
    read: JvmRead | None = None
    """What Spark's Avro is told; None for the arrow engine."""

    def __str__(self) -> str:
        beside = " with arrow for unknown ids" if self.fallback else ""
        return f"engine {self.engine}{beside}: {self.why}"
