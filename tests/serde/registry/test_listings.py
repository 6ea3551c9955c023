"""Listings: in pages or whole, filtered by the registry or by us, and what a registry lacks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import RegistryClient, Schema, Subject
from srfix.serde.registry.base import paged
from srfix.serde.schemas.errors import (
    EndpointNotSupportedError,
    RegistryAnswerError,
    SchemaNotFoundError,
    UnauthorizedError,
)
from srfix.serde.schemas.models import SchemaVersion, answered_elsewhere
from srfix.serde.wire import SchemaId
from tests.serde.registry.conftest import ScriptedRegistry


def listed(subject: str, version: int = 1, schema_id: int = 7) -> dict[str, object]:
    return {"subject": subject, "version": version, "id": schema_id, "schema": '"int"'}


def missing(server: ScriptedRegistry, implementation: str) -> None:
    """The next answer, as each says that there is no such path."""
    match implementation:
        case "confluent":
            server.fails(404, 404, "HTTP 404 Not Found")
        case "karapace":
            server.answers("Not Found", status=404, content_type="application/json")
        case "apicurio":
            server.answers(b"", status=404, content_type=None)
        case _:
            server.answers(b"<html>405</html>", status=405, content_type="text/html")


IMPLEMENTATIONS = ["confluent", "karapace", "apicurio", "gateway"]


class TestPaged:
    @given(
        count=st.integers(0, 450) | st.sampled_from([100, 200, 300, 400]),
        limit=st.none() | st.sampled_from([100, 200, 300]),
        offset_works=st.booleans(),
    )
    def test_every_item_comes_once_and_in_order_whatever_the_registry_makes_of_offsets(
        self, count: int, limit: int | None, offset_works: bool
    ) -> None:
        everything = list(range(count))
        asked: list[int] = []

        def fetch(offset: int) -> list[int]:
            asked.append(offset)
            start = offset if offset_works else 0
            return everything[start : start + (count + 1 if limit is None else limit)]

        if not offset_works:
            limit = None  # a registry that cuts pages and ignores offsets cannot be read to its end by anybody
        assert list(paged(fetch, key=lambda item: item)) == everything
        assert len(asked) <= count // 100 + 2

    def test_what_slips_into_the_next_page_while_it_is_read_comes_once(self) -> None:
        pages = [list(range(100)), list(range(99, 150))]
        assert list(paged(lambda offset: pages.pop(0), key=lambda item: item)) == list(range(150))


class TestSchemas:
    def test_pages_are_asked_for_as_they_are_read(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        for start in range(0, 3000, 1000):
            server.answers([listed(f"s{number}") for number in range(start, start + 1000)])
        server.answers([listed("last")])
        listing = client.schemas()
        assert len(server.seen) == 1
        assert [found.subject for found in listing] == [*(f"s{number}" for number in range(3000)), "last"]
        assert server.targets == ["GET /schemas", *(f"GET /schemas?offset={page}000" for page in (1, 2, 3))]


class TestSubjects:
    def test_a_listing_of_a_round_length_goes_on(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        server.answers([f"s{number}" for number in range(20_000)])
        server.answers(["one-more"])
        assert client.subjects()[-2:] == ("s19999", "one-more")
        assert server.targets == ["GET /subjects", "GET /subjects?offset=20000"]


class TestMissing:
    @pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
    def test_what_a_registry_does_not_tell_is_none(
        self, implementation: str, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        for _ in range(9):
            missing(server, implementation)
        assert client.server_version() is None
        assert client.contexts() is None
        assert client.mode("s") is None
        assert client.effective_mode("s") is None
        assert len(server.seen) == 5
        assert (client.subjects_of_id(7), client.versions_of_id(7)) == (None, None)
        for ask in (client.schemas, lambda: client.schema_by_guid("5a2e61c3-e22c-bde4-bc2a-d926730aa3ba")):
            with pytest.raises(EndpointNotSupportedError):
                ask()

    def test_what_it_does_not_know_is_no_missing_endpoint(
        self, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        for ask in (lambda: client.subjects_of_id(7), lambda: client.schema_by_guid("5a2e61c3")):
            server.fails(404, 40403)
            with pytest.raises(SchemaNotFoundError):
                ask()
        server.fails(401, 401)
        with pytest.raises(UnauthorizedError):
            client.versions_of_id(7)


class TestEffectiveMode:
    @pytest.mark.parametrize("code", [40401, 40409])
    def test_a_registry_that_does_not_fill_in_the_global_one_is_asked_for_it(
        self, code: int, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.fails(404, code)
        server.answers({"mode": "READWRITE"})
        assert client.effective_mode("s") == "READWRITE"


class TestAnsweredElsewhere:
    @pytest.mark.parametrize(
        ("asked", "answered", "elsewhere"),
        [
            ("a", "a", False),
            (":.:a", "a", False),
            (":.ctx:a", ":.ctx:a", False),
            ("a", ":.ctx:a", True),
            (":.ctx:a", "a", True),
            ("phantom", "src-value", True),
        ],
    )
    def test_another_context_or_an_alias_is_elsewhere(self, asked: str, answered: str, elsewhere: bool) -> None:
        answer = SchemaVersion(subject=Subject(answered), version=1, schema_id=SchemaId(1), schema=Schema(text='"int"'))
        assert answered_elsewhere(asked, answer) is elsewhere


def test_a_missing_endpoint_is_no_answer_of_the_registry() -> None:
    """So that `except RegistryAnswerError` around a look-up does not swallow it."""
    assert not issubclass(EndpointNotSupportedError, RegistryAnswerError)
