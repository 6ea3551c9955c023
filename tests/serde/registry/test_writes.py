"""Writes whose answer is lost: the repetition's "already done" is success, a first attempt's is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from srfix.serde.registry import (
    RegistryAnswerError,
    RegistryClient,
    Schema,
    VersionNotSoftDeletedError,
    VersionSoftDeletedError,
)

if TYPE_CHECKING:
    from tests.serde.registry.conftest import MakeClient, ScriptedRegistry

Write = Callable[[RegistryClient], None]


def soft(client: RegistryClient) -> None:
    client.delete_version("s", 3)


def permanent(client: RegistryClient) -> None:
    client.delete_version("s", 3, permanent=True)


def config(client: RegistryClient) -> None:
    client.delete_config("s")


ALREADY_DONE = [
    pytest.param(soft, 40406, id="soft-40406"),
    pytest.param(soft, 40402, id="soft-40402"),
    pytest.param(soft, 40401, id="soft-40401"),
    pytest.param(permanent, 40402, id="permanent-40402"),
    pytest.param(permanent, 40401, id="permanent-40401"),
    pytest.param(config, 40401, id="config-40401"),
    pytest.param(config, 40408, id="config-40408"),
]
NOT_DONE = [
    pytest.param(soft, 42206, id="soft-42206"),
    pytest.param(permanent, 40407, id="permanent-40407"),
    pytest.param(permanent, 40406, id="permanent-40406"),
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
