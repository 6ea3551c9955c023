"""A user of confluent-kafka's serdes: README's front in a script, what is wrong refused at once, the same in the shell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.kept_demo import kept_demo
from tests.cli.sessions.session import Session, block_of_readme

pytestmark = pytest.mark.slow

FRONT = "from dataclasses import dataclass\n\nfrom srfix.serde import RegistryClient\nfrom srfix.serde.confluent"

EVERY_KIND_OF_REGISTRY = """
import os
from confluent_kafka.schema_registry import SchemaRegistryClient
from srfix.serde import RegistryClient
from srfix.serde.confluent import AvroDeserializer, AvroSerializer, JSONDeserializer, JSONSerializer

url = os.environ["SRFIX_REGISTRY"]
columns = "ID BIGINT, OWNER STRING"
with RegistryClient(url) as ours:
    for given in (url, {"url": url}, SchemaRegistryClient({"url": url}), ours):
        payload = AvroSerializer(given, columns=columns)({"id": 7, "Owner": "Ada"}, "accounts")
        print(AvroDeserializer(given, columns=columns).row(payload, "accounts"))
        payload = JSONSerializer(given, columns=columns)({"id": 7, "Owner": "Ada"}, "accounts-json")
        print(JSONDeserializer(given, columns=columns).row(payload, "accounts-json"))
"""

ASYNCIO = """
import asyncio, os
from srfix.serde.confluent import AsyncAvroDeserializer, AsyncAvroSerializer

async def main():
    url = os.environ["SRFIX_REGISTRY"]
    serialize = await AsyncAvroSerializer(url, columns="ID BIGINT, OWNER STRING")
    deserialize = await AsyncAvroDeserializer(url, columns="ID BIGINT, OWNER STRING")
    payload = await serialize({"id": 7, "Owner": "Ada"}, "accounts")
    print(await deserialize(payload, "accounts"))
    print(await deserialize.row(payload, "accounts"))
    try:
        await AsyncAvroDeserializer(url, columns="ID BIGNIT")
    except ValueError as error:
        print("refused:", error)

asyncio.run(main())
"""

TRIED = """
import json, os, sys
from srfix.serde import SrfixError
from srfix.serde.confluent import AvroDeserializer, AvroSerializer, JSONDeserializer

url = os.environ["SRFIX_REGISTRY"]
columns = "ID BIGINT, OWNER STRING"
for line in sys.stdin.read().splitlines():
    try:
        print(json.dumps(f"made: {eval(line)}"))
    except SrfixError as error:
        print(json.dumps(str(error)))
"""
"""As at Python's prompt: each line of stdin, and what it says."""

REFUSED = {
    "AvroDeserializer(url, columns='ID BIGNIT')": ("'BIGNIT'", "character 4", "BIGINT"),
    "AvroDeserializer(url, columns='')": ("column",),
    "AvroDeserializer(url, columns=7)": ("int", "'ID BIGINT, NAME STRING'"),
    "AvroDeserializer(url, columns=columns, case_rule='uniqe')": ("case_rule", "'uniqe'", "'unique'"),
    "AvroDeserializer(url, case_rule='unique')": ("case_rule", "columns="),
    "AvroDeserializer(None, columns=columns)": ("schema_registry_client", "None"),
    "AvroDeserializer(42, columns=columns)": ("schema_registry_client", "int", "URL"),
    "AvroDeserializer('registry:8081', columns=columns)": ("'registry:8081'", "http://host:port"),
    "AvroDeserializer({'url': url, 'basic.auth.user.inof': 'me:hidden'}, columns=columns)": ("basic.auth.user.info?",),
    "AvroSerializer(url, columns=columns, conf={'auto.register.schmas': True})": ("'auto.register.schemas'?",),
    "AvroSerializer(url, columns=columns, conf={'auto.register.schemas': 'yes'})": ("True or False",),
    "AvroSerializer(url)": ("schema_str", "columns"),
    "AvroDeserializer(url, into=int)": ("into", "dataclass"),
    "AvroDeserializer(url, columns=columns, policy='dual')": ("policy", "DualSubject"),
    "JSONDeserializer(url, columns='ID BIGNIT')": ("'BIGNIT'", "character 4"),
}

WRITTEN_BY_CONFLUENT = """
import os
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

fields = '{"name": "Id", "type": "long"}, {"name": "fullName", "type": "string"}'
schema = '{"type": "record", "name": "User", "fields": [%s]}' % fields
serialize = AvroSerializer(SchemaRegistryClient({"url": os.environ["SRFIX_REGISTRY"]}), schema)
print("hex:" + serialize({"Id": 7, "fullName": "Ada"}, SerializationContext("people", MessageField.VALUE)).hex())
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    directory: Path = tmp_path_factory.mktemp("user")
    with kept_demo(directory) as demo:
        yield Session(directory=directory, settings=demo.environment)


class TestInAScript:
    def test_the_front_of_the_readme_runs_as_it_stands(self, session: Session) -> None:
        front = block_of_readme(FRONT).replace("http://registry:8081", session.settings["SRFIX_REGISTRY"])
        shown = session.python(
            f"{front}\nprint(AvroDeserializer(registry, into=Account)(payload, 'accounts'))\nregistry.close()"
        )
        assert shown == "Account(id=7, owner='Ada')\n"

    def test_every_kind_of_registry_is_taken(self, session: Session) -> None:
        rows = session.python(EVERY_KIND_OF_REGISTRY).splitlines()
        assert rows == ["{'ID': 7, 'OWNER': 'Ada'}"] * 8

    def test_the_twins_for_asyncio_do_the_same(self, session: Session) -> None:
        row, typed, refused = session.python(ASYNCIO).splitlines()
        assert row == typed == "{'ID': 7, 'OWNER': 'Ada'}"
        assert refused.startswith("refused: ")
        assert "'BIGNIT'" in refused

    def test_what_is_wrong_is_refused_when_the_serde_is_made(self, session: Session) -> None:
        said = [json.loads(line) for line in session.python(TRIED, stdin="\n".join(REFUSED)).splitlines()]
        assert len(said) == len(REFUSED)
        for (line, words), sentence in zip(REFUSED.items(), said, strict=True):
            assert not sentence.startswith("made: "), line
            assert all(word in sentence for word in words), (line, sentence)
            assert "hidden" not in sentence, (line, sentence)
            assert "\n" not in sentence, (line, sentence)


class TestInTheShell:
    def test_bytes_of_confluents_own_serializer_are_read_and_so_is_what_is_wrong_with_them(
        self, session: Session
    ) -> None:
        payload = session.python(WRITTEN_BY_CONFLUENT)
        read = "srfix decode --payload -"
        columns = "--columns 'ID BIGINT, FULLNAME STRING'"
        assert json.loads(session.runs(read, stdin=payload).out) == {"Id": 7, "fullName": "Ada"}
        assert json.loads(session.runs(f"{read} {columns}", stdin=payload).out) == {"ID": 7, "FULLNAME": "Ada"}
        session.runs(
            f"{read} {columns} --case-rule exact", stdin=payload, code=1, says=("'Id', 'fullName'", "letter case")
        )
        session.runs(read, stdin=f"{payload}hex:00\n", code=1, says=('"fullName": "Ada"', "1 of them not decoded"))
