"""What each method sends, and what it makes of the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import pytest

from srfix.serde import RegistryClient, Schema, UsageError
from srfix.serde.schemas.errors import RegistryProtocolError, SchemaNotFoundError, SubjectNotFoundError
from srfix.serde.schemas.models import CompatibilityCheck, Json, SubjectConfig
from tests.serde.registry.conftest import MakeClient, ScriptedRegistry

TEXT = '{"type":"record","name":"Größe","fields":[{"name":"a","type":"int"}]}'
AVRO = Schema(text=TEXT)
CALLS: list[tuple[Callable[[RegistryClient], object], object, str]] = [
    (lambda client: client.schema_by_id(7, subject=":.c/x:s/x"), {"schema": TEXT}, "GET /schemas/ids/7?subject=%3A.c%2Fx%3A"),
    (lambda client: client.schema_by_id(7, subject="s"), {"schema": TEXT}, "GET /schemas/ids/7"),
    (lambda client: client.gives_id_to("s/x", 7), {"schema": TEXT}, "GET /schemas/ids/7?subject=s%2Fx"),
    (lambda client: client.schema_by_guid("5a2e61c3"), {"schema": TEXT}, "GET /schemas/guids/5a2e61c3"),
    (lambda client: client.ids_of_guid("5a2e61c3"), [], "GET /schemas/guids/5a2e61c3/ids"),
    (lambda client: client.subjects(prefix="a b"), [], "GET /subjects?subjectPrefix=a%20b"),
    (lambda client: client.check_compatibility("s", AVRO), {"is_compatible": True},
     "POST /compatibility/subjects/s/versions/latest?verbose=true"),
]  # fmt: skip
"""What `test_recordings` does not have."""


class TestRequests:
    @pytest.mark.parametrize(("call", "body", "target"), CALLS, ids=[target for _, _, target in CALLS])
    def test_each_method_asks_what_the_rest_interface_calls_for(
        self,
        call: Callable[[RegistryClient], object],
        body: object,
        target: str,
        server: ScriptedRegistry,
        client: RegistryClient,
    ) -> None:
        server.answers(body)
        call(client)
        assert server.targets == [target]

    def test_a_body_is_compact_json_of_the_registrys_own_content_type(
        self, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.answers({"id": 7})
        client.register("s", AVRO)
        (request,) = server.seen
        assert request.headers["Content-Type"] == "application/vnd.schemaregistry.v1+json"
        assert request.body == json.dumps({"schema": TEXT}, separators=(",", ":")).encode()
        server.answers([])
        client.subjects()
        assert not {"Content-Type", "Authorization"} & server.seen[1].headers.keys()


class TestLookup:
    def test_it_is_asked_anew_each_time(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        server.fails(404, 40403, "Schema not found")
        server.answers({"subject": "s", "version": 1, "id": 7, "schema": TEXT})
        server.fails(404, 40401, "Subject 's' not found.")
        with pytest.raises(SchemaNotFoundError):
            client.lookup("s", AVRO)
        client.lookup("s", AVRO)
        with pytest.raises(SubjectNotFoundError):
            client.lookup("s", AVRO)


class TestLists:
    @pytest.mark.parametrize("nothing", [[], None])
    def test_none_is_an_empty_list_or_null(
        self, nothing: object, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.answers(nothing)
        server.answers(nothing)
        assert client.subjects() == ()
        assert client.versions("s") == ()

    @pytest.mark.parametrize("body", [{}, "text", 3, [1.5], [None], [["a"]], [True]])
    def test_what_is_no_list_of_subjects_or_numbers_is_no_registrys(
        self, body: object, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.always(body)
        for ask in (client.subjects, lambda: client.versions("s")):
            with pytest.raises(RegistryProtocolError):
                ask()


class TestConfig:
    def test_a_level_that_is_not_in_force_is_no_own_one(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        """Apicurio 3.3.3 under a global BACKWARD: to write its NONE back would switch the checks off for good."""
        server.answers({"compatibilityLevel": "NONE"})
        server.answers({"compatibilityLevel": "BACKWARD"})
        assert client.config("s") is None
        server.answers({"compatibilityLevel": "BACKWARD", "normalize": True})
        server.answers({"compatibilityLevel": "FULL", "normalize": True})
        assert client.config("s") == SubjectConfig(fields={"normalize": True})

    @pytest.mark.parametrize(
        ("own", "shared", "may_be"),
        [
            ({"compatibilityLevel": "FULL", "normalize": True}, "FULL", True),
            ({"compatibilityLevel": "BACKWARD", "normalize": True}, "NONE", True),
            ({"compatibilityLevel": "NONE", "normalize": True}, "BACKWARD", False),
            ({"compatibilityLevel": "BACKWARD"}, "BACKWARD", False),
        ],
    )
    def test_a_level_beside_other_fields_may_be_inherited(
        self, own: dict[str, Json], shared: str, may_be: bool, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.answers(own)
        server.answers(own)
        server.always({"compatibilityLevel": shared})
        assert client.level_may_be_inherited("s") is may_be

    @pytest.mark.parametrize("fields", [{}, {"compatibility": "FULL", "compatibilityLevel": "NONE"}])
    def test_no_field_and_two_levels_are_refused(
        self, fields: dict[str, str], server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        with pytest.raises(UsageError, match="The configuration for subject 's' needs at least"):
            client.set_config("s", dict(fields))
        assert server.seen == []
        server.answers({})
        client.set_config("s", {"compatibilityLevel": "FULL", "normalize": True, "alias": None})
        assert json.loads(server.seen[0].body) == {"compatibility": "FULL", "normalize": True, "alias": None}


class TestDeleteConfig:
    def test_a_level_none_that_is_kept_is_overwritten_first(
        self, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        """Apicurio 3.3.3: DELETE is 200 and leaves a level NONE in force."""
        none: Json = {"compatibilityLevel": "NONE"}
        for answer in (none, none, none, {"compatibilityLevel": "FULL"}, {}, {}):
            server.answers(answer)
        client.delete_config("s")
        assert server.targets == [
            "DELETE /config/s",
            "GET /config/s",
            "GET /config/s?defaultToGlobal=true",
            "GET /config",
            "PUT /config/s",
            "DELETE /config/s",
        ]
        assert json.loads(server.seen[4].body) == {"compatibility": "FULL"}

    def test_one_that_is_gone_is_left_alone(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        server.answers({"compatibilityLevel": "NONE"})
        server.fails(404, 40408)
        client.delete_config("s")
        assert server.targets == ["DELETE /config/s", "GET /config/s"]


class TestEffectiveCompatibility:
    def test_a_registry_that_does_not_fill_in_the_global_level_is_asked_for_it(
        self, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.fails(404, 40408)
        server.answers({"compatibilityLevel": "FULL"})
        assert client.effective_compatibility("s") == "FULL"
        assert server.targets[1] == "GET /config"

    def test_an_answer_without_a_level_is_no_registrys(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        server.answers({"normalize": True})
        with pytest.raises(RegistryProtocolError, match=r": its compatibilityLevel is missing \(HTTP 200"):
            client.effective_compatibility("s")


class TestCheckCompatibility:
    def test_the_reasons_are_kept(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        server.answers({"is_compatible": False, "messages": ["READER_FIELD_MISSING_DEFAULT_VALUE", {"a": 1}]})
        assert client.check_compatibility("s", AVRO) == CompatibilityCheck(
            is_compatible=False, messages=("READER_FIELD_MISSING_DEFAULT_VALUE", "{'a': 1}")
        )

    @pytest.mark.parametrize("body", [{}, {"is_compatible": "true"}, []])
    def test_what_is_no_verdict_is_no_registrys(
        self, body: object, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.answers(body)
        with pytest.raises(RegistryProtocolError):
            client.check_compatibility("s", AVRO)


class TestIncompleteAnswers:
    WHOLE: Final[dict[str, Json]] = {"subject": "s", "version": 1, "id": 1, "schema": ""}

    @pytest.mark.parametrize(
        ("body", "problem"),
        [
            ({}, "its subject is missing or not a text"),
            ({"subject": "s", "version": "1"}, "its version is missing or not a number"),
            ({"subject": "s", "version": 1, "id": True}, "its id is missing or not a number"),
            ({"subject": "s", "version": 1, "id": 0}, "its id is 0, which no registry assigns"),
            ({"subject": "s", "version": 1, "id": 2**31}, "its id is 2147483648, which no registry assigns"),
            ({"subject": "s", "version": 1, "id": 1, "schema": {}}, "its schema is missing or not a text"),
            (WHOLE | {"schemaType": 1}, "its schemaType is missing or not a text"),
            (WHOLE | {"references": {}}, "its references are not a list"),
            (WHOLE | {"references": ["a"]}, "one of its references is not an object"),
            (WHOLE | {"references": [{"name": "a"}]}, "its subject is missing or not a text"),
            ([], "its body is not a JSON object"),
        ],
    )
    def test_what_lacks_is_named(
        self, body: object, problem: str, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.answers(body)
        with pytest.raises(RegistryProtocolError, match=rf": {problem} \(HTTP 200, application/vnd\."):
            client.version("s", "latest")


class TestSchemaCache:
    def test_an_id_under_another_subject_may_be_another_contexts(
        self, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.answers({"schema": '"int"'})
        server.answers({"schema": '"string"'})
        assert client.schema_by_id(7, subject="a").schema.text == '"int"'
        assert client.schema_by_id(7, subject=":.other:a").schema.text == '"string"'

    def test_the_least_recently_used_goes_first(self, server: ScriptedRegistry, make_client: MakeClient) -> None:
        client = make_client(cache_capacity=2)
        server.always({"schema": TEXT})
        for schema_id in (1, 2, 1, 3, 1, 2):
            client.schema_by_id(schema_id)
        assert server.targets == [f"GET /schemas/ids/{schema_id}" for schema_id in (1, 2, 3, 2)]

    def test_a_cache_of_nothing_asks_each_time(self, server: ScriptedRegistry, make_client: MakeClient) -> None:
        client = make_client(cache_capacity=0)
        server.always({"schema": TEXT})
        client.schema_by_id(1)
        client.schema_by_id(1)
        assert len(server.seen) == 2

    def test_no_read_satisfies_a_registration(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        """confluent-kafka's client answers this registration from what it read, and sends nothing."""
        server.answers({"schema": TEXT})
        server.answers({"subject": "phantom", "version": 1, "id": 7, "schema": TEXT})
        server.answers({"id": 7})
        server.answers({"id": 7})
        client.schema_by_id(7, subject="phantom")
        client.lookup("phantom", AVRO)
        assert client.register("phantom", AVRO) == 7
        assert client.register("phantom", AVRO) == 7
        assert server.targets[2:] == ["POST /subjects/phantom/versions"] * 2
