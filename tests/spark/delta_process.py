"""A stream with a quarantine into Delta's tables, as somebody with Delta runs it. Its arguments are a JSON object.

In a process of its own: Delta's extensions are of the whole JVM. The first line that begins with `{` is what was read back.
"""

from __future__ import annotations

import json
import sys

from srfix.serde import RegistryClient, parse_columns
from srfix.serde.spark import bad_rows, good_rows, plan_read, read_stream, replay, start_session


def main() -> None:
    """Reads a topic into two tables, and the bad ones again after a repair."""
    told = json.loads(sys.argv[1])
    folder = told["folder"]
    spark = start_session(
        "srfix and Delta",
        master="local[2]",
        packages=(),
        config={
            "spark.jars": told["jars"],
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
        },
    )
    with RegistryClient(told["registry"]) as client:
        plan = plan_read(client, told["topic"], parse_columns("ID BIGINT, NAME STRING"))
        stream = read_stream(
            spark,
            plan,
            bootstrap_servers=told["bootstrap_servers"],
            on_error="quarantine",
            engine="jvm",
            workers_have_srfix=False,
        )
        for name, part in (("good", good_rows), ("bad", bad_rows)):
            sink = part(stream).writeStream.format("delta").trigger(availableNow=True)
            query = sink.option("checkpointLocation", f"{folder}/{name}-checkpoint").start(f"{folder}/{name}")
            query.awaitTermination()
        good = spark.read.format("delta").load(f"{folder}/good")
        bad = spark.read.format("delta").load(f"{folder}/bad")
        again = replay(bad, plan.refreshed(client), engine="jvm", workers_have_srfix=False)
        found = {
            "good": [
                [row["ID"], row["NAME"]]
                for row in good.select("value.*").where("ID IS NOT NULL").orderBy("ID").collect()
            ],
            "tombstones": good.where("value IS NULL").count(),
            "bad": [
                [row["_srfix_reason"], bytes(row["_srfix_payload"]).hex()]
                for row in bad.orderBy("partition", "offset").collect()
            ],
            "replayed": again.where("value IS NOT NULL").count(),
        }
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()
