"""What a server may make a client hold, read and wait for: real sockets, and servers that should not be."""

from __future__ import annotations

import gzip
import json
import pickle
import re
import resource
import ssl
import time
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import RegistryClient, RetryPolicy, UsageError, bounds
from srfix.serde.bounds import AnswerBounds, UnknownIdBounds
from srfix.serde.properties.registry import ANSWER_BOUNDS, open_registry, registry_settings
from srfix.serde.registry.http.bounded import _decompressor
from srfix.serde.schemas.errors import RegistryUnreachableError
from tests.serde.registry.hostile import HostileServer, answer, hostile_server, without_end

SMALL = AnswerBounds(body_bytes=100_000, head_bytes=10_000, json_parts=5_000, deadline_s=20.0, pages=5)
QUICK = AnswerBounds(deadline_s=0.4)
CHUNKED = "Transfer-Encoding: chunked"
SUBJECTS = b'["a", "b"]'
Pieces = Callable[[], Iterable[bytes]]


def once(*pieces: bytes) -> Pieces:
    return lambda: pieces


def asked(pieces: Pieces, bounds: AnswerBounds, *, pause_s: float = 0.0, read_timeout_s: float = 10.0) -> HostileServer:
    """Lists the subjects of such a server: one request, and an error that names the URL."""
    with hostile_server(pieces, pause_s=pause_s) as server:
        retry = RetryPolicy(max_attempts=3, sleep=lambda _: None)
        url = server.url.replace("://", "://user:s3cret@")
        with (
            RegistryClient(url, retry=retry, bounds=bounds, read_timeout_s=read_timeout_s) as client,
            pytest.raises(RegistryUnreachableError) as caught,
        ):
            client.subjects()
        assert server.url in caught.value.message
        assert "s3cret" not in caught.value.message
        server.message = caught.value.message  # type: ignore[attr-defined]
    return server


def said(server: HostileServer) -> str:
    return str(server.message)  # type: ignore[attr-defined]


@cache
def bomb(size: int) -> bytes:
    return gzip.compress(b"[" + b" " * size + b"]", 1)


TOO_BIG: dict[str, Pieces] = {
    "a body without end": without_end(b"HTTP/1.1 200 OK\r\n\r\n", b"[" * 65_536),
    "chunks without end": without_end(answer(b"", CHUNKED), b"1000\r\n" + b" " * 4096 + b"\r\n"),
    "a long one that says so": once(answer(b"[" * 10, length=10**9)),
    "a longer one than a number": without_end(answer(b"[", length=10**40), b" " * 65_536),
    "gzip": once(answer(bomb(10**7), "Content-Encoding: gzip")),
    "gzip in chunks": once(
        answer(b"%x\r\n%b\r\n0\r\n\r\n" % (len(bomb(10**7)), bomb(10**7)), "Content-Encoding: x-gzip", CHUNKED)
    ),
    "gzip of many members": once(answer(gzip.compress(b" " * 10_000) * 20, "Content-Encoding: gzip")),
    "deflate": once(answer(zlib.compress(b" " * 10**7, 1), "Content-Encoding: deflate")),
    "bare deflate": once(answer(zlib.compress(b" " * 10**7, 1)[2:-4], "Content-Encoding: Deflate")),
    "an error": once(answer(bomb(10**7), "Content-Encoding: gzip", status="500 Oops")),
    "a redirect": once(answer(bomb(10**7), "Content-Encoding: gzip", "Location: /subjects", status="302 Found")),
}


MOSTLY_FRAMING: dict[str, Pieces] = {
    "chunks of one byte": without_end(answer(b"", CHUNKED), b"1\r\n \r\n" * 1000),
    "chunks of one byte with extensions": without_end(answer(b"", CHUNKED), b"1;" + b"x" * 1000 + b"\r\n \r\n"),
    "trailers without end": without_end(answer(b"0\r\n", CHUNKED), b"X: y\r\n" * 1000),
}

_HEAD_IS_BOUNDED = r"\(http.answer.max.head.bytes\)|more than 100 headers"
"""Newer versions of Python count the headers before those bytes are there."""


def few(cases: dict[str, Pieces], *quick: str) -> list[Any]:
    """The cases, of which those that are not named are slow."""
    return [
        pytest.param(pieces, id=name, marks=() if name in quick else pytest.mark.slow) for name, pieces in cases.items()
    ]


class TestTooBig:
    @pytest.mark.parametrize("pieces", few(MOSTLY_FRAMING, "trailers without end"))
    def test_what_is_mostly_no_body_is_given_up_before_a_body_would_be(self, pieces: Pieces) -> None:
        """A chunk of one byte costs more time than 50 of a long one: by the body's bound this would take minutes."""
        began = time.process_time()
        server = asked(pieces, AnswerBounds())
        assert time.process_time() - began < 20
        assert "its answer is mostly chunk sizes and trailers" in said(server)
        assert "(http.answer.max.head.bytes)" in said(server)
        assert server.requests == 1

    @pytest.mark.parametrize(
        "pieces", few(TOO_BIG, "a body without end", "chunks without end", "gzip in chunks", "deflate")
    )
    def test_it_is_not_read_on_and_the_property_is_named(self, pieces: Pieces) -> None:
        server = asked(pieces, SMALL)
        assert "(http.answer.max.bytes)" in said(server)
        assert server.requests == 1

    @pytest.mark.parametrize(
        ("pieces", "words"),
        [
            (without_end(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100), _HEAD_IS_BOUNDED),
            (
                without_end(b"HTTP/1.1 100 Continue\r\n", b"X: y\r\n\r\nHTTP/1.1 100 Continue\r\n"),
                _HEAD_IS_BOUNDED,
            ),
            (without_end(b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * 5000 + b"\r\n"), r"\(http.answer.max.head.bytes\)"),
            (once(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 101 + b"\r\n\r\n"), "more than 100 headers"),
            (once(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n"), "a header of more than 65,536 bytes"),
        ],
        ids=["100 Continue", "100 Continue with headers", "headers", "too many for Python", "too long for Python"],
    )
    def test_a_head_without_end(self, pieces: Pieces, words: str) -> None:
        bounds = SMALL if r"bytes\)" in words else AnswerBounds()
        server = asked(pieces, bounds)
        assert re.search(words, said(server))
        assert server.requests == 1

    @pytest.mark.parametrize("codings", ["gzip, gzip", "gzip,deflate", "br", "gzip, identity, gzip", "nonsense"])
    def test_what_was_not_asked_for_is_not_decompressed(self, codings: str) -> None:
        body = gzip.compress(gzip.compress(b" " * 10**7))
        server = asked(once(answer(body, f"Content-Encoding: {codings}")), SMALL)
        assert "or by a method other than gzip or deflate" in said(server)

    @pytest.mark.parametrize(
        "body", [b"[" + b"{}," * 4000 + b"{}]", b"[" + b"[]," * 4000 + b"[]]", b"[" + b"1," * 9000 + b"1]"]
    )
    def test_a_body_of_too_many_parts_is_not_parsed(self, body: bytes) -> None:
        assert "(http.answer.max.parts)" in said(asked(once(answer(body)), SMALL))

    @pytest.mark.slow
    def test_memory_stays(self) -> None:
        """A gigabyte, compressed to a few megabytes."""
        gigabyte = zlib.compressobj(1, zlib.DEFLATED, 31)
        body = b"".join(gigabyte.compress(b" " * 2**24) for _ in range(64)) + gigabyte.flush()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        asked(once(answer(body, "Content-Encoding: gzip")), AnswerBounds())
        grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown_kib < 300 * 2**10

    def test_one_bad_server_does_not_hide_a_good_one(self) -> None:
        with (
            hostile_server(once(answer(b"[" * 10, length=10**9))) as bad,
            hostile_server(once(answer(SUBJECTS))) as good,
            RegistryClient([bad.url, good.url], bounds=SMALL) as client,
        ):
            assert client.subjects() == ("a", "b")


SLOW: dict[str, Pieces] = {
    "a body": without_end(answer(b"[", length=10**6), b" "),
    "chunks": without_end(answer(b"", CHUNKED), b"1\r\n \r\n"),
    "a chunk's size": without_end(answer(b"", CHUNKED), b"0"),
    "trailers": without_end(answer(b"0\r\n", CHUNKED), b"x"),
    "a status line": without_end(b"HTTP/1.1 200 O", b"k"),
    "headers": without_end(b"HTTP/1.1 200 OK\r\nX: ", b"y"),
    "100 Continue": without_end(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "an error": without_end(answer(b"[", length=10**6, status="500 Oops"), b" "),
    "a redirect": without_end(answer(b"[", "Location: /", length=10**6, status="302 Found"), b" "),
}


class TestTooSlow:
    @pytest.mark.parametrize("pieces", few(SLOW, "a body", "headers"))
    def test_what_drips_is_given_up_though_each_byte_is_in_time(self, pieces: Pieces) -> None:
        server = asked(pieces, QUICK, pause_s=0.05)
        assert "not complete after 0.4 s" in said(server)
        assert "(http.answer.deadline.ms)" in said(server)
        assert server.requests == 1
        assert server.sent < 1000


class TestOverTls:
    @pytest.mark.parametrize(
        ("pieces", "bounds", "pause_s", "property_"),
        [
            (TOO_BIG["chunks without end"], SMALL, 0.0, "http.answer.max.bytes"),
            (
                without_end(b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * 5000 + b"\r\n"),
                SMALL,
                0.0,
                "http.answer.max.head.bytes",
            ),
            (SLOW["a body"], QUICK, 0.05, "http.answer.deadline.ms"),
            (SLOW["headers"], QUICK, 0.05, "http.answer.deadline.ms"),
        ],
    )
    def test_the_bounds_hold(
        self, pieces: Pieces, bounds: AnswerBounds, pause_s: float, property_: str, tls: ssl.SSLContext, ca_file: str
    ) -> None:
        with (
            hostile_server(pieces, pause_s=pause_s, tls=tls) as server,
            RegistryClient(server.url, ca_file=ca_file, bounds=bounds) as client,
            pytest.raises(RegistryUnreachableError, match=rf"\({re.escape(property_)}\)"),
        ):
            client.subjects()

    def test_a_handshake_that_drips_ends_with_the_time_out_of_the_connection(self, ca_file: str) -> None:
        record = b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc"
        with hostile_server(without_end(record, b"\0"), pause_s=0.05, waits=False) as server:
            url = server.url.replace("http://", "https://")
            with (
                RegistryClient(
                    url,
                    ca_file=ca_file,
                    connect_timeout_s=0.3,
                    retry=RetryPolicy(max_attempts=1),
                    bounds=AnswerBounds(),
                ) as client,
                pytest.raises(RegistryUnreachableError, match=r"no connection within 0\.3 s|no answer within"),
            ):
                client.subjects()
            assert server.sent < 1000


class TestThroughAProxy:
    @pytest.mark.parametrize("url", ["http://registry.test", "https://registry.test"])
    def test_the_bounds_hold_for_its_own_answers_too(self, url: str) -> None:
        with (
            hostile_server(without_end(b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * 999 + b"\r\n")) as proxy,
            RegistryClient(url, proxy=proxy.url, bounds=SMALL, retry=RetryPolicy(max_attempts=1)) as client,
            pytest.raises(RegistryUnreachableError, match=r"\(http\.answer\.max\.head\.bytes\)"),
        ):
            client.subjects()


class TestListings:
    def pages(self) -> Pieces:
        numbers = iter(range(10**9))
        return lambda: [answer(json.dumps([f"s{next(numbers)}" for _ in range(100)]).encode())]

    def test_pages_without_end(self) -> None:
        server = asked(self.pages(), SMALL)
        assert "(http.listing.max.pages)" in said(server)
        assert server.requests == 5

    def test_pages_that_take_too_long_together(self) -> None:
        server = asked(self.pages(), AnswerBounds(listing_deadline_s=0.1), pause_s=0.06)
        assert "(http.listing.deadline.ms)" in said(server)

    def test_names_without_end(self) -> None:
        numbers = iter(range(10**9))
        names = lambda: [answer(json.dumps([f"{next(numbers)}{'n' * 500}" for _ in range(100)]).encode())]  # noqa: E731
        assert "the names in its listing have more than 100,000 characters" in said(asked(names, SMALL))


class TestRedirects:
    def test_cookies_are_not_kept(self) -> None:
        cookie = f"Set-Cookie: {'c' * 4000}=1"
        with (
            hostile_server(once(answer(SUBJECTS, cookie))) as server,
            RegistryClient(server.url) as client,
        ):
            client.subjects()
            assert len(client._transport._session().cookies) == 0


class TestLies:
    def test_what_comes_behind_a_body_is_no_answer_to_the_next_request(self) -> None:
        with (
            hostile_server(once(answer(SUBJECTS) + answer(b'["forged"]'))) as server,
            RegistryClient(server.url) as client,
        ):
            assert [client.subjects() for _ in range(3)] == [("a", "b")] * 3

    @pytest.mark.parametrize("body", [b"\x1f\x8b\x08nonsense", gzip.compress(SUBJECTS, mtime=0)[:-9], b"[]"])
    def test_a_body_that_is_not_what_its_coding_says(self, body: bytes) -> None:
        with (
            hostile_server(once(answer(body, "Content-Encoding: gzip"))) as server,
            RegistryClient(server.url, retry=RetryPolicy(max_attempts=1)) as client,
            pytest.raises(RegistryUnreachableError, match=r"its answer could not be decompressed"),
        ):
            client.subjects()


class TestGoodAnswers:
    @pytest.mark.parametrize(
        ("body", "coding"),
        [
            (SUBJECTS, "identity"),
            (gzip.compress(SUBJECTS, mtime=0), "gzip"),
            (gzip.compress(SUBJECTS, mtime=0), "X-GZIP"),
            (gzip.compress(SUBJECTS[:3], mtime=0) + gzip.compress(SUBJECTS[3:], mtime=0) + bytes(9), "gzip"),
            (zlib.compress(SUBJECTS), "deflate"),
            (zlib.compress(SUBJECTS)[2:-4], "deflate"),
        ],
    )
    def test_they_are_read_over_one_connection(self, body: bytes, coding: str) -> None:
        with (
            hostile_server(once(answer(body, f"Content-Encoding: {coding}"))) as server,
            RegistryClient(server.url) as client,
        ):
            assert [client.subjects() for _ in range(3)] == [("a", "b")] * 3
            assert server.requests == 3
            assert len(server._threads) == 2  # the listener's, and one connection's

    @given(body=st.binary(max_size=3000), size=st.integers(1, 500), level=st.integers(0, 9))
    def test_what_is_decompressed_piece_by_piece_is_the_whole(self, body: bytes, size: int, level: int) -> None:
        for coding, packed in (("gzip", gzip.compress(body, level)), ("deflate", zlib.compress(body, level))):
            decompress = _decompressor(coding)
            assert decompress is not None
            size = max(size, 2)
            pieces = [packed[start : start + size] for start in range(0, len(packed), size)]
            made = b"".join(decompress(piece, 10_000) for piece in pieces)
            decompress.finish()
            assert made == body


class TestBounds:
    def test_the_clients_properties_change_each(self) -> None:
        given = {name: str(7_000 + number) for number, name in enumerate(ANSWER_BOUNDS.values())}
        settings = registry_settings(
            {"url": "http://x", **given, "missing.id.cache.ttl.sec": "0", "missing.cache.size": "5"}
        )
        assert settings.bounds == AnswerBounds(
            body_bytes=7_000,
            head_bytes=7_001,
            json_parts=7_002,
            deadline_s=7.003,
            pages=7_004,
            listing_deadline_s=7.005,
        )
        assert settings.unknown_ids == UnknownIdBounds(remember_s=0, most=5)
        with open_registry(settings, "http://x", kafka={}) as client, pickle.loads(pickle.dumps(client)) as copy:
            for one in (client, copy):
                assert one._transport.settings.bounds == settings.bounds
                assert one._transport.settings.unknown_ids == settings.unknown_ids

    def test_every_bound_has_a_property(self) -> None:
        assert set(ANSWER_BOUNDS) == set(AnswerBounds.__slots__)
        source = Path(bounds.__file__).read_text(encoding="utf-8")
        assert [name for name in ANSWER_BOUNDS.values() if f"`{name}`" not in source] == []

    @pytest.mark.parametrize("name", ANSWER_BOUNDS.values())
    def test_none_of_them_is_0(self, name: str) -> None:
        with pytest.raises(UsageError, match=rf"^The property {name} must be more than 0\.$"):
            registry_settings({name: "0"})

    @pytest.mark.parametrize("bound", ANSWER_BOUNDS)
    def test_nor_in_python(self, bound: str) -> None:
        with pytest.raises(UsageError, match=rf"more than 0; {bound} is -1\."):
            AnswerBounds(**{bound: -1})
