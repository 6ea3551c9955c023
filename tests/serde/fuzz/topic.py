"""A topic whose records are broken in every way that we know, and what a reader has to find in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from srfix.serde import Deserializer, Role, Schema, SerdeContext, SrfixError
from tests.serde.fuzz.expected import agrees
from tests.serde.fuzz.frames import Framed, GuidRegistry, framed
from tests.serde.fuzz.harness import PER_CASE, Fuzz
from tests.serde.fuzz.mutations import BINARY, Mutation, mutated

OTHERS: Final = {
    "AVRO": '{"type":"record","name":"O","fields":[{"name":"A","type":"long"},{"name":"b","type":["null","string"]}]}',
    "JSON": '{"type":"object","title":"O","properties":{"A":{"type":"integer"},"b":{"type":"string"}}}',
}
"""Another schema of each type, which the registry knows as well."""
ALIENS: Final = (
    b'{"A":1,"b":"x"}',
    b'[{"key":"a","value":1}]',
    b'"text"',
    b"\x02\x02\x02a",
    b"\0\0\0\7",
    b"\0\0\0\0\0\0\0\7",
    b"",
)
"""Bodies of other formats."""


@dataclass(frozen=True, slots=True)
class Read:
    schema: Schema | None
    """The schema that it names; None if the registry does not know it, or it names none."""
    body: bytes
    """What is behind the framing."""
    row: object
    refusal: SrfixError | None
    """Why nothing did."""
    about: Callable[[], str]
    """What to try again, in words."""

    def must_be(self, expected: object) -> None:
        """:raises AssertionError: if it is another row, or none."""
        assert self.refusal is None, f"{self.refusal!r}, but it is {expected!r}: {self.about()}"
        assert agrees(expected, self.row), f"{self.row!r} was read, but it is {expected!r}: {self.about()}"

    def must_be_refused(self, why: str) -> None:
        """:raises AssertionError: if a row came of it."""
        assert self.refusal is not None, f"{self.row!r} was read, but {why}: {self.about()}"


class Topic:
    """Payloads of one schema, among those of others."""

    def __init__(self, text: str, bodies: Sequence[bytes], *, schema_type: str = "AVRO") -> None:
        self._registry = GuidRegistry()
        others = [self._registry.seed(kind, other, schema_type=kind) for kind, other in OTHERS.items()]
        self._others = tuple(others)
        self._schema_id = self._registry.seed("own", text, schema_type=schema_type)
        self._bodies = bodies
        self._text = text

    @property
    def registry(self) -> GuidRegistry:
        return self._registry

    def reads(
        self, fuzz: Fuzz, random: Random, deserialize: Deserializer, mutations: Sequence[Mutation] = BINARY
    ) -> Iterator[Read]:
        for _ in range(PER_CASE):
            body = mutated(random, random.choice(self._bodies if random.randrange(12) else ALIENS), mutations)
            sent = framed(random, body, self._schema_id, self._others)
            row, refusal, about = _read(fuzz, deserialize, sent, self._text)
            schema, body = sent.named(self._registry)
            yield Read(schema, body, row, refusal, about)


def bare_reads(
    fuzz: Fuzz,
    random: Random,
    deserialize: Deserializer,
    bodies: Sequence[bytes],
    mutations: Sequence[Mutation],
    *,
    about: str,
    role: Role = Role.VALUE,
) -> Iterator[Read]:
    """Reads a case's payloads, of a format without framing."""
    for _ in range(PER_CASE):
        body = mutated(random, random.choice(bodies if random.randrange(12) else ALIENS), mutations)
        row, refusal, words = _read(fuzz, deserialize, Framed(body), about, role)
        yield Read(None, body, row, refusal, words)


def _read(
    fuzz: Fuzz, deserialize: Deserializer, sent: Framed, text: str, role: Role = Role.VALUE
) -> tuple[object, SrfixError | None, Callable[[], str]]:
    ctx = SerdeContext("t", role, headers=sent.headers)

    def about() -> str:
        shown = sent.payload if len(sent.payload) < 2_000 else sent.payload[:2_000] + b"..."
        return f"the payload {shown!r}, headers {sent.headers}, of {text}"

    row, refusal = fuzz.read(lambda: deserialize(sent.payload, ctx), about=about)
    return row, refusal, about
