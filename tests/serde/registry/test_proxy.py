"""Through a proxy, and only where one is named."""

from __future__ import annotations

import pickle
import select
import socket
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from srfix.serde import RegistryClient, SecretError, UsageError
from srfix.serde.schemas.errors import RegistryProtocolError, RegistryUnreachableError
from tests.serde.registry.conftest import MakeClient, ScriptedRegistry, everything_shown_of

PASSWORD = "s3cret@proxy"
CREDENTIALS = f"Basic {b64encode(f'me:{PASSWORD}'.encode()).decode()}"


class TunnelProxy:
    """Opens tunnels; notes what it was asked and the credentials that came along. (A proxy of plain requests is played by the
    scripted registry.)"""

    def __init__(self, *, demands: str | None = CREDENTIALS) -> None:
        self.asked: list[tuple[str, str | None]] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 20

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

            def do_CONNECT(self) -> None:
                given = self.headers.get("Proxy-Authorization")
                proxy.asked.append((f"CONNECT {self.path}", given))
                if demands not in (None, given):
                    self.send_response(407, f"Not with {given}")
                    self.end_headers()
                    return
                host, _, port = self.path.partition(":")
                with socket.create_connection((host, int(port)), timeout=10) as upstream:
                    self.send_response(200)
                    self.end_headers()
                    ends = {self.connection: upstream, upstream: self.connection}
                    while True:
                        for end in select.select([*ends], [], [], 10)[0]:
                            data = end.recv(65536)
                            if not data:
                                return
                            ends[end].sendall(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def url(self, user_info: str = "") -> str:
        return f"http://{user_info}127.0.0.1:{self.port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def proxy() -> Iterator[TunnelProxy]:
    running = TunnelProxy()
    yield running
    running.stop()


class TestOverHttp:
    @pytest.mark.parametrize("password", [None, "s3cret%40proxy", "env:PROXY_PASSWORD", "env%3APROXY_PASSWORD"])
    def test_every_request_goes_through_it_and_so_do_its_credentials(
        self, password: str | None, server: ScriptedRegistry, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PROXY_PASSWORD", PASSWORD)
        server.always(["a-value"])
        proxy = server.url if password is None else server.url.replace("://", f"://me:{password}@")
        assert make_client("http://registry.example:8081", proxy=proxy).subjects() == ("a-value",)
        assert server.targets == ["GET http://registry.example:8081/subjects"]
        assert server.seen[0].headers.get("Proxy-Authorization") == (None if password is None else CREDENTIALS)

    def test_https_goes_through_a_tunnel_and_the_certificate_is_checked(
        self, tls_server: ScriptedRegistry, proxy: TunnelProxy, ca_file: str, make_client: MakeClient
    ) -> None:
        tls_server.always(["a-value"])
        strict = proxy.url("me:s3cret%40proxy@")
        client = make_client(tls_server.url, proxy=strict, ca_file=ca_file)
        assert client.subjects() == ("a-value",)
        assert proxy.asked == [(f"CONNECT 127.0.0.1:{tls_server.port}", CREDENTIALS)]
        assert "Proxy-Authorization" not in tls_server.seen[0].headers
        with pytest.raises(RegistryUnreachableError, match=r" its TLS certificate is not accepted "):
            make_client(tls_server.url, proxy=strict).subjects()

    def test_the_environments_proxies_are_not_asked(
        self,
        server: ScriptedRegistry,
        other_server: ScriptedRegistry,
        client: RegistryClient,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, other_server.url)
        server.always([])
        client.subjects()
        assert other_server.seen == []


class TestTrouble:
    def test_a_proxy_that_is_not_there_is_named(self, closed_port: int, make_client: MakeClient) -> None:
        with pytest.raises(RegistryUnreachableError, match=rf"the proxy http://127\.0\.0\.1:{closed_port} does"):
            make_client("http://a:8081", proxy=f"http://me:x@127.0.0.1:{closed_port}", attempts=1).subjects()

    def test_a_tunnel_that_is_refused_shows_the_status_and_not_the_proxys_words(
        self, proxy: TunnelProxy, make_client: MakeClient
    ) -> None:
        client = make_client("https://registry.example:8081", proxy=proxy.url("me:other%40s3cret@"), attempts=1)
        with pytest.raises(RegistryUnreachableError, match=r" does not pass the request on \(HTTP 407, it") as caught:
            client.subjects()
        shown = everything_shown_of(caught.value)
        assert b64encode(b"me:other@s3cret").decode() not in shown

    def test_a_plain_request_that_is_refused_says_so(self, server: ScriptedRegistry, make_client: MakeClient) -> None:
        server.answers(b"", status=407)
        with pytest.raises(RegistryProtocolError, match="a proxy wants other credentials than those in `proxy`"):
            make_client("http://registry.example:8081", proxy=server.url).subjects()


class TestProxyUrl:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("proxy:3128", "'proxy:3128' .* needs the form http://host:port"),
            ("socks5://proxy:1080", "needs the form http://host:port"),
            ("http://proxy:3128/path", "a proxy's address has no path"),
            ("http://me:s3cret@proxy:3128/path", "not shown, because it may contain a password"),
            ("http://me:s3cret@proxy:x", "not shown, because it may contain a password"),
        ],
    )
    def test_what_is_no_proxy_is_refused(self, text: str, message: str) -> None:
        with pytest.raises(UsageError, match=message) as caught:
            RegistryClient("http://a:8081", proxy=text)
        assert "s3cret" not in str(caught.value)

    def test_a_literal_password_refuses_to_be_pickled_and_a_reference_travels(self) -> None:
        client = RegistryClient("http://a:8081", proxy="http://me:s3cret@proxy:3128")
        assert "s3cret" not in f"{client!r} {client.url} {client.__getstate__()!r}"
        with pytest.raises(SecretError, match=r"^srfix does not pickle a literal secret, "):
            pickle.dumps(client)
        pickle.loads(pickle.dumps(RegistryClient("http://a:8081", proxy="http://me:env:P@proxy:3128"))).close()
