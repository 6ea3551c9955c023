"""Writes whose answer is lost: the repetition's "already done" is success, a first attempt's is an error."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from srfix.serde import RegistryClient, Schema
from srfix.serde.schemas.errors import EndpointNotSupportedError, RegistryAnswerError, VersionSoftDeletedError
from srfix.serde.schemas.models import Json, Registration
from srfix.serde.wire import SchemaId
from tests.serde.registry.conftest import MakeClient, ScriptedRegistry

Write = Callable[[RegistryClient], object]


WRITES: dict[str, tuple[Write, tuple[int, ...], tuple[int, ...]]] = {
    # what is written, and the codes that say that it is already done, or cannot be done
    "soft": (lambda client: client.delete_version("s", 3), (40406, 40402, 40401), (42206,)),
    "permanent": (
        lambda client: client.delete_version("s", 3, permanent=True),
        (40402, 40401),
        (40407, 40406),  # 40407: the version's number was given out anew
    ),
    "soft subject": (lambda client: client.delete_subject("s"), (40404, 40401), (42206, 40904)),
    "permanent subject": (lambda client: client.delete_subject("s", permanent=True), (40401,), (40405, 40404)),
    "config": (lambda client: client.delete_config("s"), (40401, 40408), (42205,)),
    "mode": (lambda client: client.delete_mode("s"), (40401, 40409), (42205,)),
}
ALREADY_DONE, NOT_DONE = (
    [
        pytest.param(write, code, id=f"{name}-{code}")
        for name, (write, *codes) in WRITES.items()
        for code in codes[which]
    ]
    for which in (0, 1)
)


class TestAlreadyDone:
    @pytest.mark.parametrize(("write", "code"), ALREADY_DONE)
    def test_after_a_cut_connection_it_is_success(
        self, write: Write, code: int, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.cuts()
        server.fails(404, code)
        write(client)
        assert len(server.seen) == 2

    @pytest.mark.parametrize(("write", "code"), ALREADY_DONE)
    @pytest.mark.parametrize("status", [500, 502, 504])
    def test_after_an_answer_that_leaves_the_outcome_open_it_is_success(
        self, status: int, write: Write, code: int, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.fails(status, 50002)
        server.fails(404, code)
        write(client)

    @pytest.mark.parametrize(("write", "code"), ALREADY_DONE)
    @pytest.mark.parametrize("status", [408, 429])
    def test_after_an_attempt_that_was_turned_away_it_is_an_error(
        self, status: int, write: Write, code: int, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.fails(status, status)
        server.fails(404, code)
        with pytest.raises(RegistryAnswerError):
            write(client)

    @pytest.mark.parametrize(("write", "code"), ALREADY_DONE)
    def test_after_a_refused_connection_it_is_an_error(
        self, write: Write, code: int, closed_port: int, server: ScriptedRegistry, make_client: MakeClient
    ) -> None:
        server.fails(404, code)
        with pytest.raises(RegistryAnswerError) as caught:
            write(make_client(f"http://127.0.0.1:{closed_port}", server.url))
        assert (caught.value.error_code, caught.value.earlier_attempt_lost) == (code, False)

    def test_the_answer_itself_is_no_earlier_attempt(self, server: ScriptedRegistry, make_client: MakeClient) -> None:
        server.fails(500, 50002, "Register operation timed out")
        with pytest.raises(RegistryAnswerError) as caught:
            WRITES["soft"][0](make_client(attempts=1))
        assert not caught.value.earlier_attempt_lost

    def test_what_happened_before_is_forgotten_by_the_next_request(
        self, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.cuts()
        server.fails(404, 40406)
        server.fails(404, 40406)
        WRITES["soft"][0](client)
        with pytest.raises(VersionSoftDeletedError):
            WRITES["soft"][0](client)


@pytest.mark.core
class TestNotDone:
    @pytest.mark.parametrize(("write", "code"), NOT_DONE)
    def test_it_is_an_error_after_a_lost_attempt_too(
        self, write: Write, code: int, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.cuts()
        server.fails(404, code)
        with pytest.raises(RegistryAnswerError) as caught:
            write(client)
        assert caught.value.earlier_attempt_lost


SCHEMA = Schema(text='"int"')


@pytest.mark.parametrize(
    ("write", "request_"),
    [
        (lambda client: client.register("s", SCHEMA), "POST /subjects/s/versions"),
        (lambda client: client.register_with_id("s", SCHEMA, 7), "POST /subjects/s/versions"),
        (lambda client: client.set_config("s", {"compatibility": "NONE"}), "PUT /config/s"),
        (lambda client: client.set_mode("s", "IMPORT", force=True), "PUT /mode/s?force=true"),
    ],
)
def test_a_lost_answer_is_asked_for_again(
    write: Write, request_: str, server: ScriptedRegistry, client: RegistryClient
) -> None:
    server.cuts()
    server.answers({"id": 7, "mode": "IMPORT"})
    write(client)
    assert server.targets == [request_] * 2
    assert server.seen[0].body == server.seen[1].body


class TestSetMode:
    @pytest.mark.parametrize("status", [404, 405])
    def test_a_registry_that_cannot_says_so(
        self, status: int, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        """Karapace: 405 and no registry's body."""
        server.answers({"message": "Method Not Allowed"}, status=status)
        server.fails(status, status)
        changes: list[Callable[[], None]] = [lambda: client.set_mode("s", "IMPORT"), lambda: client.delete_mode("s")]
        for change in changes:
            with pytest.raises(EndpointNotSupportedError, match="This schema registry does not support"):
                change()


@pytest.mark.parametrize("metadata", [None, {}, {"properties": {"k": "v"}}])
def test_id_and_metadata_are_sent_where_they_are_given_and_the_whole_answer_is_handed_over(
    metadata: dict[str, Json] | None, server: ScriptedRegistry, client: RegistryClient
) -> None:
    server.always({"id": 4242, "version": 7, "guid": "9a0e", "schemaType": "AVRO", "schema": "x"})
    registration = client.register_with_id("s", SCHEMA, 4242, metadata=metadata)
    assert registration == Registration(schema_id=SchemaId(4242), version=7, guid="9a0e")
    client.register("s", SCHEMA, metadata=metadata)
    assert server.targets == ["POST /subjects/s/versions"] * 2
    sent: dict[str, Json] = {"schema": '"int"'} | ({} if metadata is None else {"metadata": metadata})
    assert [json.loads(request.body) for request in server.seen] == [sent | {"id": 4242}, sent]
