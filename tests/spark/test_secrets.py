"""A registry's password, given in every way, in every engine: it reads the same, and stands in nothing that Spark prints or
keeps. In a process of its own, for the event log."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from parts.guarded_registry import GuardedRegistry
from parts.jars import spark_jars
from srfix.fixtures.fetching import fetch
from srfix.serde import AvroSerializer, BasicAuth, RegistryClient, Secret, SerdeContext
from srfix.serde.spark.releases import lacks_arrow, lacks_source
from tests.spark.conftest import RELEASE
from tests.spark.reading_world import COLUMNS, LOWER
from tests.spark.test_packages import lines_of

PASSWORD: Final = "hunter2-of-the-registry"
SCRIPT: Final = """
    import contextlib, io, os
    from srfix.serde import BasicAuth, RegistryClient, Secret
    from srfix.serde.spark import from_registry, plan_read, start_session

    password = open(os.environ["FILE"]).read()
    config = {
        "spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
        "spark.jars": os.environ["JARS"], "spark.eventLog.enabled": "true", "spark.eventLog.dir": os.environ["EVENTS"],
        "spark.eventLog.compress": "false", "spark.sql.maxPlanStringLength": "1000000", "spark.log.level": "OFF",
    }
    spark = start_session("secrets", master="local[1]", packages=(), config=config)
    ways = {
        "literal": Secret(password), "env": Secret.parse("env:REGISTRY_PASSWORD"),
        "file": Secret.parse("file:" + os.environ["FILE"]), "callable": lambda: password,
    }
    url = os.environ["REGISTRY"]
    shown = ""
    for way, secret in ways.items():
        client = RegistryClient(url, auth=BasicAuth("ada", secret))
        for engine, topic in zip(os.environ["ENGINES"].split(), ("users", "others")):
            plan = plan_read(client, topic, "ID BIGINT, NAME STRING")
            shown += plan.explain(extended=True) + repr(plan) + str(plan.schema) + repr(client)
            frame = spark.createDataFrame([(bytes.fromhex(os.environ["PAYLOAD"]),)], "value binary")
            read = frame.transform(from_registry(plan, on_error="quarantine", engine=engine))
            told = io.StringIO()
            with contextlib.redirect_stdout(told):
                read.explain(extended=True)
            shown += told.getvalue()
            row = read.collect()[0]
            print(way, engine, topic, row["_srfix_reason"], row["value"] and row["value"]["NAME"])
    try:
        spark.sql(
            "CREATE TEMPORARY VIEW v USING srfix OPTIONS (topic 't', `bootstrap.servers` 'localhost:1', "
            f"registry '{url}', columns 'ID INT', `registry.basic.auth.user.info` 'ada:in-the-sql')"
        )
        spark.table("v").collect()
    except Exception as error:
        print("refused", "env:NAME" in str(error), "in-the-sql" in str(error))
    print("shown", password in shown, len(shown) > 10000)
    spark.stop()
"""


def test_every_way_reads_in_every_engine_and_none_is_printed_or_logged(tmp_path: Path) -> None:
    engines = ["jvm", "arrow"] if lacks_arrow() is None else ["jvm"]
    events = tmp_path / "events"
    events.mkdir()
    secret_file = tmp_path / "secret"
    secret_file.write_text(PASSWORD)
    with GuardedRegistry(basic_auth={"ada": PASSWORD}) as registry:
        with RegistryClient(registry.url, auth=BasicAuth("ada", Secret(PASSWORD))) as client:
            payload = AvroSerializer(client, COLUMNS)({"ID": 1, "NAME": "Ada"}, SerdeContext("users"))
            AvroSerializer.for_schema(client, LOWER)({"id": 1, "name": "Ada"}, SerdeContext("others"))
            assert payload is not None
        lines = lines_of(
            SCRIPT,
            tmp_path,
            FILE=str(secret_file),
            REGISTRY_PASSWORD=PASSWORD,
            ENGINES=" ".join(engines),
            EVENTS=events.as_uri(),
            JARS=",".join(map(str, fetch(spark_jars(RELEASE)))),
            REGISTRY=registry.url,
            PAYLOAD=payload.hex(),
            PYTHONPATH=os.pathsep.join([str(Path(__file__).parents[2]), *sys.path]),
        )
    # The arrow engine's plan lacks the id: a worker asks the registry.
    read = [
        f"{way} {engine} {topic} None Ada"
        for way in ("literal", "env", "file", "callable")
        for engine, topic in zip(engines, ("users", "others"), strict=False)
    ]
    said = [line for line in lines if line.startswith((*("literal", "env", "file", "callable"), "refused", "shown"))]
    assert said == [*read, f"refused {lacks_source() is None} False", "shown False True"]
    log = "".join(path.read_text(errors="replace") for path in events.rglob("*") if path.is_file())
    assert "SparkListenerSQLExecutionStart" in log
    assert "plan_decoder" in log or "arrow" not in engines
    assert PASSWORD not in log
