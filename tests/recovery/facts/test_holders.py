"""Who holds an id."""

from __future__ import annotations

from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.cluster.topic_lookup import did_you_mean
from srfix.recovery.facts.refusals import Holder, find_holders, list_holders
from srfix.serde import RegistryClient, Schema, Subject
from srfix.serde.wire import SchemaId

A = '{"type":"record","name":"A","fields":[]}'
NO_LISTING = Fault(
    path=r"^/schemas(\?|$)", action=Answer(status=404, body='{"error_code":404,"message":"HTTP 404 Not Found"}')
)


def holder(subject: str, version: int, schema_id: int, *, deleted: bool = False) -> Holder:
    return Holder(subject=Subject(subject), version=version, schema_id=SchemaId(schema_id), deleted=deleted)


class TestFindHolders:
    def test_one_content_with_two_ids_is_held_by_those_that_have_that_id(self) -> None:
        # Confluent's own GET /schemas/ids/1/subjects answers by content here.
        with FixtureRegistry() as registry, RegistryClient(registry.url) as client:
            registry.seed("one", A)
            client.set_mode("two", "IMPORT")
            client.register_with_id("two", Schema(text=A), SchemaId(900))
            client.delete_mode("two")
            expected = {SchemaId(1): (holder("one", 1, 1),), SchemaId(900): (holder("two", 1, 900),)}
            assert dict(find_holders(client, expected.keys()).by_id) == expected
            with registry.intercept(NO_LISTING):
                found = find_holders(client, expected.keys(), likely=[Subject("one"), Subject("two")])
            assert (dict(found.by_id), found.is_complete) == (expected, False)

    def test_an_id_that_nobody_holds_has_no_holders(self) -> None:
        with FixtureRegistry() as registry, RegistryClient(registry.url) as client:
            registry.seed("one", A)
            assert dict(find_holders(client, [SchemaId(5)]).by_id) == {5: ()}
            with registry.intercept(NO_LISTING):
                assert dict(find_holders(client, [SchemaId(5)]).by_id) == {5: ()}

    def test_no_ids_are_no_requests(self) -> None:
        with FixtureRegistry() as registry, RegistryClient(registry.url) as client:
            assert dict(find_holders(client, []).by_id) == {}
            assert registry.requests == ()


class TestListHolders:
    def test_soft_deleted_versions_are_told_apart(self) -> None:
        with FixtureRegistry() as registry, RegistryClient(registry.url) as client:
            registry.seed("a", A)
            registry.seed("b", A)
            client.delete_version("a", 1)
            assert list_holders(client) == (holder("a", 1, 1, deleted=True), holder("b", 1, 1))


class TestDidYouMean:
    def test_letter_case_alone_is_nothing(self) -> None:
        assert did_you_mean("USERS", ["orders", "users", "user-clicks"]).startswith(" Did you mean 'users'")

    def test_what_is_far_is_not_suggested(self) -> None:
        assert did_you_mean("zzz", ["orders", "users"]) == ""
