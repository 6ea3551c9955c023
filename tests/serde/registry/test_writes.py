"""Writes whose answer is lost: the repetition's "already done" is success, a first attempt's is an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.errors import (
    EndpointNotSupportedError,
    RegistryAnswerError,
    VersionNotSoftDeletedError,
    VersionSoftDeletedError,
)
from srfix.serde.registry.models import Json, Registration, Schema
from srfix.serde.wire import SchemaId

if TYPE_CHECKING:
    from tests.serde.registry.conftest import MakeClient, ScriptedRegistry

Write = Callable[[RegistryClient], None]


def soft(client: RegistryClient) -> None:
    client.delete_version("s", 3)


def permanent(client: RegistryClient) -> None:
    client.delete_version("s", 3, permanent=True)


def soft_subject(client: RegistryClient) -> None:
    client.delete_subject("s")


def permanent_subject(client: RegistryClient) -> None:
    client.delete_subject("s", permanent=True)


def config(client: RegistryClient) -> None:
    client.delete_config("s")


def mode(client: RegistryClient) -> None:
    client.delete_mode("s")


ALREADY_DONE = [
    pytest.param(soft, 40406, id="soft-40406"),
    pytest.param(soft, 40402, id="soft-40402"),
    pytest.param(soft, 40401, id="soft-40401"),
    pytest.param(permanent, 40402, id="permanent-40402"),
    pytest.param(permanent, 40401, id="permanent-40401"),
    pytest.param(soft_subject, 40404, id="soft-subject-40404"),
    pytest.param(soft_subject, 40401, id="soft-subject-40401"),
    pytest.param(permanent_subject, 40401, id="permanent-subject-40401"),
    pytest.param(mode, 40401, id="mode-40401"),
    pytest.param(mode, 40409, id="mode-40409"),
    pytest.param(config, 40401, id="config-40401"),
    pytest.param(config, 40408, id="config-40408"),
]
NOT_DONE = [
    pytest.param(soft, 42206, id="soft-42206"),
    pytest.param(permanent, 40407, id="permanent-40407"),
    pytest.param(permanent, 40406, id="permanent-40406"),
    pytest.param(soft_subject, 42206, id="soft-subject-42206"),
    pytest.param(soft_subject, 40904, id="soft-subject-40904"),
    pytest.param(permanent_subject, 40405, id="permanent-subject-40405"),
    pytest.param(permanent_subject, 40404, id="permanent-subject-40404"),
    pytest.param(mode, 42205, id="mode-42205"),
    pytest.param(config, 42205, id="config-42205"),
]


class TestAlreadyDone:
    @pytest.mark.parametrize(("write", "code"), ALREADY_DONE)
    def test_to_a_first_attempt_it_is_an_error(
        self, write: Write, code: int, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.fails(404, code)
        with pytest.raises(RegistryAnswerError) as caught:
            write(client)
        assert caught.value.error_code == code
        assert not caught.value.earlier_attempt_lost

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
        with pytest.raises(RegistryAnswerError):
            write(make_client(f"http://127.0.0.1:{closed_port}", server.url))

    def test_the_answer_itself_is_no_earlier_attempt(self, server: ScriptedRegistry, make_client: MakeClient) -> None:
        server.fails(500, 50002, "Register operation timed out")
        with pytest.raises(RegistryAnswerError) as caught:
            soft(make_client(attempts=1))
        assert not caught.value.earlier_attempt_lost

    def test_what_happened_before_is_forgotten_by_the_next_request(
        self, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.cuts()
        server.fails(404, 40406)
        server.fails(404, 40406)
        soft(client)
        with pytest.raises(VersionSoftDeletedError):
            soft(client)


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

    def test_a_version_number_given_out_anew_is_not_deleted(
        self, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.cuts()
        server.fails(404, 40407, "Subject 's' Version 3 was not deleted first before being permanently deleted")
        with pytest.raises(VersionNotSoftDeletedError):
            permanent(client)


class TestRegister:
    def test_a_lost_answer_is_asked_for_again(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        server.cuts()
        server.answers({"id": 7})
        assert client.register("s", Schema(text='"string"')) == 7
        assert server.seen[0].body == server.seen[1].body


class TestSetConfig:
    def test_a_lost_answer_is_asked_for_again(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        server.cuts()
        server.answers({"compatibility": "NONE"})
        client.set_config("s", {"compatibility": "NONE"})
        assert server.targets == ["PUT /config/s"] * 2


class TestSetMode:
    def test_a_lost_answer_is_asked_for_again(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        server.cuts()
        server.answers({"mode": "IMPORT"})
        client.set_mode("s", "IMPORT", force=True)
        assert server.targets == ["PUT /mode/s?force=true"] * 2
        assert server.seen[0].body == b'{"mode":"IMPORT"}'

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


class TestRegisterWithId:
    def test_the_id_is_sent_and_the_whole_answer_handed_over(
        self, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.answers({"id": 4242, "version": 7, "guid": "9a0e", "schemaType": "AVRO", "schema": "x"})
        registration = client.register_with_id("s", Schema(text='"int"'), 4242, metadata={"properties": {"k": "v"}})
        assert registration == Registration(schema_id=SchemaId(4242), version=7, guid="9a0e")
        assert server.targets == ["POST /subjects/s/versions"]
        assert json.loads(server.seen[0].body) == {
            "schema": '"int"',
            "id": 4242,
            "metadata": {"properties": {"k": "v"}},
        }

    def test_an_older_registry_says_nothing_but_the_id(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        server.answers({"id": 9})
        registration = client.register_with_id("s", Schema(text='"int"'), 4242)
        assert registration == Registration(schema_id=SchemaId(9), version=None, guid=None)

    def test_a_lost_answer_is_asked_for_again(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        server.cuts()
        server.answers({"id": 7})
        client.register_with_id("s", Schema(text='"int"'), 7)
        assert server.seen[0].body == server.seen[1].body


class TestMetadata:
    @pytest.mark.parametrize("metadata", [None, {}, {"properties": {"k": "v"}}])
    def test_it_is_sent_where_it_is_given_even_if_it_is_empty(
        self, metadata: dict[str, Json] | None, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.answers({"id": 7})
        client.register("s", Schema(text='"int"'), metadata=metadata)
        assert json.loads(server.seen[0].body).get("metadata") == metadata
        assert ("metadata" in json.loads(server.seen[0].body)) is (metadata is not None)
