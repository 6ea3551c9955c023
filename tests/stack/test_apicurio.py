"""A real Apicurio starts, answers, says what it was asked, and leaves nothing behind."""

from __future__ import annotations

import pytest

from srfix.fixtures.registry.others.apicurio import ApicurioRegistry
from srfix.serde.errors import UsageError
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.models import Schema

pytestmark = pytest.mark.stack

ONE = '{"type":"record","name":"R","fields":[{"name":"one","type":"string"}]}'
OTHER = '{"type":"record","name":"R","fields":[{"name":"other","type":"string"}]}'
SUBJECT = "a/b c-value"


class TestApicurioRegistry:
    def test_what_is_seeded_is_there_whatever_the_level_and_counts_as_no_write(
        self, apicurio: ApicurioRegistry
    ) -> None:
        apicurio.clear()
        ids = [apicurio.seed(SUBJECT, text) for text in (ONE, OTHER)]
        with RegistryClient(apicurio.url) as client:
            assert client.config() is not None
            client.set_config(SUBJECT, {"compatibility": "FULL"})
            client.delete_version(SUBJECT, 2)
            apicurio.forget_requests()
            ids.append(apicurio.seed(SUBJECT, OTHER.replace("other", "third")))
            assert apicurio.dump() == {
                "config": {"compatibility": "BACKWARD"},
                "configs": {SUBJECT: {"compatibility": "FULL"}},
                "subjects": {
                    SUBJECT: [
                        {"version": 1, "id": ids[0], "deleted": False, "schema": ONE},
                        {"version": 2, "id": ids[1], "deleted": True, "schema": OTHER},
                        {"version": 3, "id": ids[2], "deleted": False, "schema": OTHER.replace("other", "third")},
                    ]
                },
            }
            assert client.subjects() == (SUBJECT,)
            client.register(SUBJECT, Schema(text=ONE))
            assert apicurio.write_log == (("POST", "/subjects/a%2Fb%20c-value/versions", 200),)
            asked = [(seen.method, seen.path.partition("?")[0]) for seen in apicurio.requests]
            assert asked == [("GET", "/subjects"), ("POST", "/subjects/a%2Fb%20c-value/versions")]
        apicurio.clear()
        assert (apicurio.requests, apicurio.dump()["subjects"], apicurio.dump()["configs"]) == ((), {}, {})

    def test_what_it_refuses_cannot_be_seeded(self, apicurio: ApicurioRegistry) -> None:
        with pytest.raises(UsageError, match=r"^The schema cannot be seeded under 'x-value': Apicurio answered .*422"):
            apicurio.seed("x-value", '{"type":"record"')
