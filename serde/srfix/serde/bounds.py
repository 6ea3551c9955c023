"""Every bound that keeps what somebody else wrote from hurting whoever reads it: in this module, and nowhere else.

A bound here has a name, a default, what it protects from, and how to change it.
"""

from __future__ import annotations

from dataclasses import dataclass

from srfix.serde.errors import UsageError

__all__ = ["AnswerBounds", "UnknownIdBounds"]


# Answers of servers --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBounds:
    """What an answer over HTTP may take, of a schema registry and of ksqlDB.

    Change them with the registry's client properties that are named here, or with `RegistryClient(bounds=…)` and
    `KsqldbClient(bounds=…)`. An answer beyond one is not read on: its connection is closed, and the error names URL, bound
    and property. It is not asked for again at the same URL.

    :raises UsageError: if one of them is not positive.
    """

    body_bytes: int = 64 * 2**20
    """`http.answer.max.bytes`: bytes of a body, decompressed. Protects memory from bodies without end and from compressed
    bombs. 100,000 subjects take 6 MB."""
    head_bytes: int = 256 * 2**10
    """`http.answer.max.head.bytes`: bytes before the body: status line, headers, and every `100 Continue` before them.
    Protects from heads without end."""
    json_parts: int = 5_000_000
    """`http.answer.max.parts`: commas and opening brackets of a JSON body. Protects memory from bodies like `[{},{},…]`,
    whose values take twenty times the room of their text."""
    deadline_s: float = 120.0
    """`http.answer.deadline.ms`: seconds from the request to the answer's last byte. Protects from answers that drip, whose
    every byte comes within the read time-out."""
    pages: int = 2_000
    """`http.listing.max.pages`: pages of one listing. Protects from listings without end. Registries give 1,000 schemas or
    20,000 subjects a page."""
    listing_deadline_s: float = 900.0
    """`http.listing.deadline.ms`: seconds spent waiting for the pages of one listing."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise UsageError(f"A bound must be more than 0; {name} is {getattr(self, name)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownIdBounds:
    """How long, and of how many ids, a client remembers that the registry does not know them.

    Change them with the registry's client properties that are named here (Confluent's names), or with
    `RegistryClient(unknown_ids=…)`. Protects the registry from a question for every record that carries an unknown id. What
    any client of this process writes makes all of them forget; `RegistryClient.forget_unknown_ids` does too.

    :raises UsageError: if one of them is negative.
    """

    remember_s: float = 30.0
    """`missing.id.cache.ttl.sec`: seconds; 0 asks each time."""
    most: int = 10_000
    """`missing.cache.size`: ids; beyond it the oldest is forgotten."""

    def __post_init__(self) -> None:
        if self.remember_s < 0 or self.most < 0:
            raise UsageError(
                f"Unknown ids are remembered for 0 s or longer, and 0 or more of them; not {self.remember_s} s and {self.most}."
            )
