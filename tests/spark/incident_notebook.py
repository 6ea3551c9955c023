# %% [markdown]
# # A store that cannot be read: looked at, repaired and written back, on Spark
#
# A notebook in percent format: VS Code, PyCharm and Jupytext open it as cells; `python -m` runs it from top to bottom.
# It needs `pip install 'srfix[spark]' matplotlib`, Java 17, and the damage: in another terminal `srfix demo --keep`, or a
# broker and a registry of your own, named by `SRFIX_BOOTSTRAP_SERVERS` and `SRFIX_REGISTRY`. A real broker is wanted:
# the embedded one of `srfix demo` speaks to librdkafka only.

# %%
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

from matplotlib import pyplot
from pyspark.sql import functions as F

from srfix.recovery.census.interface import CensusRequest
from srfix.recovery.census.spark import SparkCensus
from srfix.serde.registry.client import RegistryClient
from srfix.serde.resolve.policies import DualSubject, UnderOneSubject
from srfix.serde.spark.read.planning import plan_read
from srfix.serde.spark.reading import bad_rows, good_rows, read_topic
from srfix.serde.spark.session.session import start_session
from srfix.serde.spark.write.plan import plan_write
from srfix.serde.spark.writing import write_topic
from srfix.serde.subjects.names import Role, Topic
from srfix.serde.subjects.strategies import ChangelogSubject, TopicSubject

bootstrap_servers = os.environ["SRFIX_BOOTSTRAP_SERVERS"]
registry = RegistryClient(os.environ["SRFIX_REGISTRY"])
work = Path(os.environ.get("SRFIX_NOTEBOOK_FOLDER", "."))
topic = Topic("users")
phantom = ChangelogSubject(application="_confluent-ksql-default_query_CSAS_J_0", store="KafkaTopic_Right-Reduce")
columns = "USERID BIGINT, FULLNAME STRING, EMAILADDRESS STRING"
spark = start_session("the incident")

# %% [markdown]
# ## As the failing reader sees it
# It asks for each schema id under the phantom subject alone. Nothing fails here: what cannot be read stays apart, with its
# reason.

# %%
failing = plan_read(registry, topic, columns, policy=UnderOneSubject(registry, phantom), subjects=[f"{topic}-value"])
print(failing.explain())
seen = read_topic(spark, failing, bootstrap_servers=bootstrap_servers, on_error="quarantine")
reasons_before = {
    row["_srfix_reason"]: row["count"] for row in bad_rows(seen).groupBy("_srfix_reason").count().collect()
}
print(reasons_before)

# %% [markdown]
# ## With the dual subject
# The phantom first, then the source: every row is there, in the table's own columns, whatever the writers' letters.

# %%
policy = DualSubject(registry, first=phantom, second=TopicSubject())
plan = plan_read(registry, topic, columns, policy=policy)
users = read_topic(spark, plan, bootstrap_servers=bootstrap_servers, on_error="quarantine")
good_rows(users).select("partition", "offset", "value.*").orderBy("partition", "offset").show(truncate=False)
rows_read = good_rows(users).where("value IS NOT NULL").count()
assert bad_rows(users).count() == 0

# %% [markdown]
# ## Which ids live where
# The same census that `srfix diagnose --engine spark` makes, and a look at the ids over the offsets.

# %%
raw = (
    spark.read.format("kafka")
    .option("kafka.bootstrap.servers", bootstrap_servers)
    .option("subscribe", topic)
    .load()
    .where(F.length("value") >= 5)
    .select("partition", "offset", F.conv(F.hex(F.substring("value", 2, 4)), 16, 10).cast("bigint").alias("id"))
)
census = SparkCensus(spark, {"bootstrap.servers": bootstrap_servers}).count(
    CensusRequest(topic=topic, partitions=(0, 1, 2), committed=None)
)
points = raw.collect()
ids_in_values = census.ids(Role.VALUE)
assert {point["id"] for point in points} == set(ids_in_values)

figure, axes = pyplot.subplots(figsize=(8, 3))
for partition in range(3):
    of_it = [point for point in points if point["partition"] == partition]
    offsets, ids = [point["offset"] for point in of_it], [str(point["id"]) for point in of_it]
    axes.scatter(offsets, ids, label=f"partition {partition}", marker="|", s=200)
axes.set(title=f"Schema ids in {topic}", xlabel="offset", ylabel="schema id")
axes.legend()
figure.tight_layout()
figure.savefig(work / "ids-over-offsets.png")

# %% [markdown]
# ## The repair
# By the same commands as on any console. `apply` asks first, unless it is told `--yes`.


# %%
def srfix(*arguments: str) -> int:
    """A command in the work folder; its exit code."""
    command = [str(Path(sys.executable).with_name("srfix")), *arguments]
    print("$ srfix", *arguments, flush=True)
    return subprocess.run(command, cwd=work, stdin=subprocess.DEVNULL, check=False).returncode


codes = [
    srfix("diagnose"),
    srfix("plan", "-o", "repair.json"),
    srfix("apply", "repair.json", "--yes"),
    srfix("verify", "repair.json"),
]
assert codes == [1, 0, 0, 0], codes

# %% [markdown]
# The failing reader reads again. A plan is made anew, since what subjects hold has changed.

# %%
repaired = plan_read(registry, topic, columns, policy=UnderOneSubject(registry, phantom))
read_again = read_topic(spark, repaired, bootstrap_servers=bootstrap_servers, on_error="quarantine")
assert bad_rows(read_again).count() == 0
assert good_rows(read_again).where("value IS NOT NULL").count() == rows_read

# %% [markdown]
# ## Written back
# Under one schema, the table's own, for whoever cannot wait for the repair of a reader. Tombstones stay tombstones, because
# it is said so, and the frame has the mark by which they were read as such.

# %%
clean = plan_write(registry, "users-clean", plan.columns)
print(clean.explain())
write_topic(
    good_rows(users).select("key", "value", "partition", "_srfix_tombstone"),
    clean,
    bootstrap_servers=bootstrap_servers,
    null_rows="tombstone",
)
written = read_topic(spark, plan_read(registry, "users-clean", columns), bootstrap_servers=bootstrap_servers)
both = [frame.where("value IS NOT NULL").select("partition", "value.*") for frame in (good_rows(users), written)]
assert both[0].exceptAll(both[1]).count() == both[1].exceptAll(both[0]).count() == 0
print("Done: the ids are plotted, the phantom subject is repaired, and users-clean has the rows.")
