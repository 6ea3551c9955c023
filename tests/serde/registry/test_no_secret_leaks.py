"""Whatever goes wrong, no error shows a password: not in its text, its pickle, its chain, nor a traceback
with locals.
"""

from __future__ import annotations

import threading
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from srfix.serde import BasicAuth, BearerAuth, RegistryClient, Schema, Secret, SrfixError
from srfix.serde.schemas.errors import RegistryUnreachableError
from tests.serde.registry.conftest import MakeClient, ScriptedRegistry, everything_shown_of

PASSWORD = "s3cret@pass/word"
NEEDLES = [
    PASSWORD,
    "s3cret%40pass%2Fword",
    "s3cret",
    b64encode(f"reader:{PASSWORD}".encode()).decode(),
]

ECHO = f"<html>Your request: Authorization: Basic {NEEDLES[3]} ({PASSWORD})</html>".encode()


LOCATION = f"http://reader:{NEEDLES[1]}@elsewhere/?p={PASSWORD}"
GATEWAY: Any = {"body": ECHO, "status": 502, "content_type": f"text/html; x={PASSWORD}"}


def twice(trouble: Callable[[ScriptedRegistry], None]) -> Callable[[ScriptedRegistry], None]:
    def both(server: ScriptedRegistry) -> None:
        trouble(server)
        trouble(server)

    return both


TROUBLES: dict[str, Callable[[ScriptedRegistry], object]] = {
    "refused": lambda server: server.stop(),
    "cut": twice(lambda server: server.cuts()),
    "silent": twice(lambda server: server.answers([], held_until=threading.Event())),
    "echoed page": lambda server: server.answers(ECHO, content_type="text/html"),
    "echoed gateway page": twice(lambda server: server.answers(**GATEWAY)),
    "echoed error": lambda server: server.fails(422, 42201, ECHO.decode()),
    "unauthorized": lambda server: server.answers(ECHO, status=401, content_type="text/html"),
    "redirected": lambda server: server.answers(b"", status=302, headers={"Location": LOCATION}),
    "incomplete": lambda server: server.answers({"subject": "s"}),
}


def given_in_the_url(server: ScriptedRegistry, make_client: MakeClient) -> RegistryClient:
    return make_client(server.url.replace("http://", f"http://reader:{NEEDLES[1]}@"), attempts=2, read_timeout_s=0.2)


def given_apart(server: ScriptedRegistry, make_client: MakeClient) -> RegistryClient:
    return make_client(server.url, auth=BasicAuth("reader", Secret(PASSWORD)), attempts=2, read_timeout_s=0.2)


def given_as_a_token(server: ScriptedRegistry, make_client: MakeClient) -> RegistryClient:
    return make_client(server.url, auth=BearerAuth(Secret(PASSWORD)), attempts=2, read_timeout_s=0.2)


def given_as_a_token_that_changes(server: ScriptedRegistry, make_client: MakeClient) -> RegistryClient:
    """By the time that the page with the token comes back, the next token is another one."""
    tokens = iter([PASSWORD, PASSWORD])
    return make_client(server.url, auth=BearerAuth(lambda: next(tokens)), attempts=2, read_timeout_s=0.2)


def given_to_a_proxy(server: ScriptedRegistry, make_client: MakeClient) -> RegistryClient:
    """The scripted registry plays the proxy."""
    proxy = server.url.replace("http://", f"http://reader:{NEEDLES[1]}@")
    return make_client("http://registry.example:8081", proxy=proxy, attempts=2, read_timeout_s=0.2)


@pytest.mark.parametrize(
    "client_of",
    [given_in_the_url, given_apart, given_as_a_token, given_as_a_token_that_changes, given_to_a_proxy],
)
@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_no_error_shows_the_password(
    trouble: Callable[[ScriptedRegistry], object],
    client_of: Callable[[ScriptedRegistry, MakeClient], RegistryClient],
    server: ScriptedRegistry,
    make_client: MakeClient,
) -> None:
    client = client_of(server, make_client)
    trouble(server)
    with pytest.raises(SrfixError) as caught:
        client.lookup("orders-value", Schema(text='"string"'))
    shown = everything_shown_of(caught.value)
    assert "orders-value" in shown, "the error does not say what was asked"
    sent = NEEDLES[:3] if "token" in client_of.__name__ else NEEDLES
    assert [needle for needle in sent if needle in shown] == []


@pytest.mark.core
def test_the_list_of_what_each_url_answered_does_not_show_it_either(
    server: ScriptedRegistry, other_server: ScriptedRegistry, make_client: MakeClient
) -> None:
    server.answers(**GATEWAY)
    other_server.fails(503, 50004, ECHO.decode())
    client = make_client(server.url, other_server.url, auth=BasicAuth("reader", Secret(PASSWORD)), attempts=1)
    with pytest.raises(RegistryUnreachableError) as caught:
        client.subjects()
    shown = everything_shown_of(caught.value)
    assert "(text/html; x=***)" in shown
    assert [needle for needle in NEEDLES if needle in shown] == []
