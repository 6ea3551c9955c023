"""Through a proxy, and only where one is named."""

from __future__ import annotations

import pickle
import select
import socket
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import trustme

from srfix.serde.errors import SecretError, UsageError
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.errors import RegistryProtocolError, RegistryUnreachableError
from tests.serde.registry.conftest import everything_shown_of

if TYPE_CHECKING:
    from tests.serde.registry.conftest import MakeClient, ScriptedRegistry

PASSWORD = "s3cret@proxy"
CREDENTIALS = f"Basic {b64encode(f'me:{PASSWORD}'.encode()).decode()}"


class ForwardProxy:
    """Passes plain requests on and opens tunnels; notes what it was asked and the credentials that came along."""

    def __init__(self, *, demands: str | None = None) -> None:
        self.asked: list[tuple[str, str | None]] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 20

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

            def admitted(self) -> bool:
                given = self.headers.get("Proxy-Authorization")
                proxy.asked.append((f"{self.command} {self.path}", given))
                if demands in (None, given):
                    return True
                self.send_response(407, f"Not with {given}")
                self.send_header("Content-Length", "0")
                self.send_header("Connection", "close")
                self.end_headers()
                return False

            def do_GET(self) -> None:
                if not self.admitted():
                    return
                target = urlsplit(self.path)
                upstream = HTTPConnection(target.netloc, timeout=10)
                upstream.request("GET", target.path, headers={"Accept": self.headers["Accept"]})
                answer = upstream.getresponse()
                body = answer.read()
                upstream.close()
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_CONNECT(self) -> None:
                if not self.admitted():
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
                                self.close_connection = True
                                return
                            ends[end].sendall(data)

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
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
def proxy() -> Iterator[ForwardProxy]:
    running = ForwardProxy()
    yield running
    running.stop()


@pytest.fixture
def strict_proxy() -> Iterator[ForwardProxy]:
    running = ForwardProxy(demands=CREDENTIALS)
    yield running
    running.stop()


class TestOverHttp:
    def test_every_request_goes_through_it(
        self, server: ScriptedRegistry, proxy: ForwardProxy, make_client: MakeClient
    ) -> None:
        server.always(["a-value"])
        assert make_client(server.url, proxy=proxy.url()).subjects() == ("a-value",)
        assert proxy.asked == [(f"GET {server.url}/subjects", None)]

    def test_https_goes_through_a_tunnel_and_the_certificate_is_checked(
        self,
        tls_server: ScriptedRegistry,
        proxy: ForwardProxy,
        authority: trustme.CA,
        tmp_path: Path,
        make_client: MakeClient,
    ) -> None:
        authority.cert_pem.write_to_path(tmp_path / "ca.pem")
        tls_server.always(["a-value"])
        client = make_client(tls_server.url, proxy=proxy.url(), ca_file=str(tmp_path / "ca.pem"))
        assert client.subjects() == ("a-value",)
        assert proxy.asked == [(f"CONNECT 127.0.0.1:{tls_server.port}", None)]
        with pytest.raises(RegistryUnreachableError, match=r" its TLS certificate is not accepted "):
            make_client(tls_server.url, proxy=proxy.url()).subjects()

    @pytest.mark.parametrize("password", ["s3cret%40proxy", "env:PROXY_PASSWORD", "env%3APROXY_PASSWORD"])
    def test_its_credentials_go_to_it_and_not_to_the_registry(
        self,
        password: str,
        server: ScriptedRegistry,
        strict_proxy: ForwardProxy,
        make_client: MakeClient,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("PROXY_PASSWORD", PASSWORD)
        server.always(["a-value"])
        assert make_client(server.url, proxy=strict_proxy.url(f"me:{password}@")).subjects() == ("a-value",)
        assert strict_proxy.asked[0][1] == CREDENTIALS
        assert "Proxy-Authorization" not in server.seen[0].headers

    def test_a_tunnels_credentials_go_along_too(
        self,
        tls_server: ScriptedRegistry,
        strict_proxy: ForwardProxy,
        authority: trustme.CA,
        tmp_path: Path,
        make_client: MakeClient,
    ) -> None:
        authority.cert_pem.write_to_path(tmp_path / "ca.pem")
        tls_server.always(["a-value"])
        client = make_client(
            tls_server.url, proxy=strict_proxy.url("me:s3cret%40proxy@"), ca_file=str(tmp_path / "ca.pem")
        )
        assert client.subjects() == ("a-value",)
        assert strict_proxy.asked[0][1] == CREDENTIALS
        assert "Proxy-Authorization" not in tls_server.seen[0].headers

    def test_the_environments_proxies_are_not_asked(
        self, server: ScriptedRegistry, proxy: ForwardProxy, client: RegistryClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        server.always([])
        client.subjects()
        assert proxy.asked == []


class TestTrouble:
    def test_a_proxy_that_is_not_there_is_named(self, closed_port: int, make_client: MakeClient) -> None:
        with pytest.raises(RegistryUnreachableError, match=rf"the proxy http://127\.0\.0\.1:{closed_port} does"):
            make_client("http://a:8081", proxy=f"http://me:x@127.0.0.1:{closed_port}", attempts=1).subjects()

    def test_a_tunnel_that_is_refused_shows_the_status_and_not_the_proxys_words(
        self, strict_proxy: ForwardProxy, make_client: MakeClient
    ) -> None:
        client = make_client("https://registry.example:8081", proxy=strict_proxy.url("me:other%40s3cret@"), attempts=1)
        with pytest.raises(RegistryUnreachableError, match=r" does not pass the request on \(HTTP 407, it") as caught:
            client.subjects()
        shown = everything_shown_of(caught.value)
        assert b64encode(b"me:other@s3cret").decode() not in shown

    def test_a_plain_request_that_is_refused_says_so(self, strict_proxy: ForwardProxy, make_client: MakeClient) -> None:
        with pytest.raises(RegistryProtocolError, match=": a proxy wants other credentials than those in"):
            make_client("http://registry.example:8081", proxy=strict_proxy.url()).subjects()


class TestProxyUrl:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                "proxy:3128",
                r"^The proxy 'proxy:3128' for the registry cannot be used: it needs the form http://host:port or "
                r"https://host:port\.$",
            ),
            ("socks5://proxy:1080", r": it needs the form http://host:port"),
            ("http://proxy:3128/path", r": a proxy's address has no path\.$"),
            (
                "http://me:s3cret@proxy:3128/path",
                r"^The proxy \(not shown, for it may hold a password\) for the registry",
            ),
            ("http://me:s3cret@proxy:x", r"^The proxy \(not shown, for it may hold a password\) for the registry"),
        ],
    )
    def test_what_is_no_proxy_is_refused(self, text: str, message: str) -> None:
        with pytest.raises(UsageError, match=message) as caught:
            RegistryClient("http://a:8081", proxy=text)
        assert "s3cret" not in str(caught.value)

    def test_it_is_shown_by_nothing(self) -> None:
        client = RegistryClient("http://a:8081", proxy="http://me:s3cret@proxy:3128")
        assert "s3cret" not in f"{client!r} {client.url} {client.__getstate__()!r}"

    def test_a_literal_password_refuses_to_be_pickled_and_a_reference_travels(self) -> None:
        with pytest.raises(SecretError, match=r"^A literal secret is not pickled: "):
            pickle.dumps(RegistryClient("http://a:8081", proxy="http://me:s3cret@proxy:3128"))
        pickle.loads(pickle.dumps(RegistryClient("http://a:8081", proxy="http://me:env:P@proxy:3128"))).close()
