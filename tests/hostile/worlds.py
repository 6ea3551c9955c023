"""Worlds with something hostile in them: one broker and one registry each, and what an honest one would answer."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry import governed
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.hostile.attack import Done, attack

USER: Final = (
    '{"type":"record","name":"User","fields":[{"name":"userId","type":"long"},{"name":"name","type":"string"}]}'
)
"""What producers write."""
INTERNAL: Final = (
    '{"type":"record","name":"KsqlDataSourceSchema","namespace":"io.confluent.ksql.avro_schemas","fields":['
    '{"name":"USERID","type":["null","long"],"default":null},{"name":"NAME","type":["null","string"],"default":null}]}'
)
"""What the store's own serde registered."""


def long(number: int) -> bytes:
    """An int or long of Avro."""
    zigzag = (number << 1) ^ (number >> 63)
    out = bytearray()
    while True:
        zigzag, low = zigzag >> 7, zigzag & 0x7F
        out.append(low | (0x80 if zigzag else 0))
        if not zigzag:
            return bytes(out)


def avro_string(text: str | bytes) -> bytes:
    """A string or bytes of Avro."""
    raw = text.encode() if isinstance(text, str) else text
    return long(len(raw)) + raw


def frame(schema_id: int, body: bytes) -> bytes:
    """Confluent's frame; the id may be any 32 bits."""
    return b"\x00" + (schema_id & 0xFFFFFFFF).to_bytes(4, "big") + body


def user(schema_id: int, number: int = 7, name: str = "Ada") -> bytes:
    """A good record of `USER`."""
    return frame(schema_id, long(number) + avro_string(name))


@dataclass(frozen=True, kw_only=True)
class World:
    broker: EmbeddedBroker
    registry: FixtureRegistry

    @property
    def env(self) -> dict[str, str]:
        return {"SRFIX_BOOTSTRAP_SERVERS": self.broker.bootstrap_servers, "SRFIX_REGISTRY": self.registry.url}

    def attack(self, *arguments: str | bytes | Path, env: Mapping[str, str] | None = None, **more: Any) -> Done:
        """The command, told where they are."""
        return attack(*arguments, env={**self.env, **(env or {})}, **more)

    def topic(
        self,
        name: str,
        values: Iterable[bytes | None],
        *,
        keys: Sequence[bytes | None] | None = None,
        headers: tuple[tuple[str, bytes | None], ...] = (),
    ) -> int:
        """A topic of one partition with these values; returns how many."""
        self.broker.create_topic(name, 1)
        records = []
        for number, value in enumerate(values):
            key = keys[number] if keys else b"k%d" % number
            records.append(ProducedRecord(topic=name, partition=0, key=key, value=value, headers=headers))
        self.broker.produce(records)
        return len(records)

    def store(
        self,
        application: str,
        values: Sequence[bytes | None],
        *,
        topic: str | None = None,
        store: str = "users-store",
        writer: str = USER,
        keys: Sequence[bytes | None] | None = None,
        phantom: str | None = None,
    ) -> tuple[str, str]:
        """The incident: a store that restores from `topic`, whose phantom subject has the internal schema alone.

        Returns the option that says where it restores from.
        """
        name = topic or f"{application}-topic"
        count = self.topic(name, values, keys=keys)
        self.registry.seed(f"{name}-value", writer)
        self.registry.seed(phantom or f"{application}-{store}-changelog-value", INTERNAL)
        self.broker.commit(application, {(name, 0): count})
        return "--source", f"{application}/{store}={name}"


@contextmanager
def world(*, any_subject: bool = False) -> Iterator[World]:
    """An empty one; `any_subject` takes names with control characters too, which a registry of Confluent's refuses (42208)
    and others do not."""
    with pytest.MonkeyPatch.context() as patch, EmbeddedBroker() as broker, FixtureRegistry() as registry:
        if any_subject:
            patch.setattr(governed, "checked_subject", lambda subject, **_: subject)
        yield World(broker=broker, registry=registry)


def tree(directory: Path) -> dict[str, tuple[int, str]]:
    """Every file below, with its mode and what it holds; links are not followed."""
    found: dict[str, tuple[int, str]] = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder) / name
            mode = path.lstat().st_mode
            if path.is_symlink():
                content = os.readlink(path)
            elif path.is_file():
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            else:
                content = "special"
            found[str(path.relative_to(directory))] = (mode, content)
    return found


def signed(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan with the digest of what it holds, as an attacker computes it who knows how that is done."""
    rest = {name: value for name, value in plan.items() if name != "digest"}
    told = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return {**rest, "digest": "sha256:" + hashlib.sha256(told).hexdigest()}
