"""Each URL asked alone."""

from __future__ import annotations

import time

import pytest

from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.probe import probe
from srfix.serde.schemas.errors import RegistryProtocolError, RegistryUnreachableError, UnauthorizedError


class TestProbe:
    def test_each_url_is_asked_once_and_nothing_is_repeated(self) -> None:
        with FixtureRegistry() as registry, RegistryClient([registry.url, "http://127.0.0.1:9"]) as client:
            good, bad = probe(client)
            assert [request.path for request in registry.requests] == ["/v1/metadata/version"]
        assert good.version is not None
        assert good.version.startswith("7.9")
        assert (good.url, good.error, bad.version, bad.clock_skew_s) == (registry.url, None, None, None)
        assert isinstance(bad.error, RegistryUnreachableError)

    @pytest.mark.parametrize("ahead_s", [0, 3600, -90])
    def test_the_clocks_difference_is_told_to_about_a_second(self, ahead_s: int) -> None:
        with FixtureRegistry() as registry, RegistryClient(registry.url) as client:
            [found] = probe(client, clock=lambda: time.time() - ahead_s)
        assert found.clock_skew_s is not None
        assert abs(found.clock_skew_s - ahead_s) < 1.5

    @pytest.mark.parametrize(
        ("answer", "error"),
        [
            (Answer(status=404, body="", content_type="text/html"), None),
            (Answer(status=404, body='"Not Found"'), None),
            (Answer(status=401, body='{"error_code":401,"message":"Unauthorized"}'), UnauthorizedError),
            (Answer(status=200, body="<html>", content_type="text/html"), RegistryProtocolError),
            (Answer(status=503, body=""), RegistryProtocolError),
        ],
    )
    def test_no_version_is_no_fault_and_no_registry_is_one(self, answer: Answer, error: type[Exception] | None) -> None:
        with FixtureRegistry() as registry, RegistryClient(registry.url) as client:
            registry.intercept(Fault(action=answer))
            [found] = probe(client)
            assert len(registry.requests) == 1
        assert found.version is None
        assert found.error is None if error is None else isinstance(found.error, error)
