"""Spark readers and writers on the serdes.

What will happen is decided in a plan, on the driver and in plain Python; Spark carries it out. Importing this package
loads no pyspark: its functions do when they are called.
"""

from srfix.serde.spark.choosing import EngineChoice, choose_engine
from srfix.serde.spark.counts import ReadCounts, counts_of
from srfix.serde.spark.driver_errors import clear_errors, srfix_error_of
from srfix.serde.spark.interface import (
    Engine,
    Feed,
    ListedVersion,
    NewestSchema,
    OnBadRow,
    PlannedRefusal,
    PlannedSchema,
    ReasonColumns,
    reason_columns,
)
from srfix.serde.spark.packages import Packages, packages
from srfix.serde.spark.plan import NEWEST, ReadPlan, plan_read
from srfix.serde.spark.progress import JobProgress, StreamProgress, to_stderr, watch_jobs, watch_streams
from srfix.serde.spark.reading import bad_rows, from_registry, good_rows, read_stream, read_topic, replay
from srfix.serde.spark.session import check_session, start_session
from srfix.serde.spark.write_plan import WritePlan, plan_write
from srfix.serde.spark.writing import to_registry, write_stream, write_topic

__all__ = [
    "Engine",
    "EngineChoice",
    "Feed",
    "JobProgress",
    "ListedVersion",
    "NEWEST",
    "NewestSchema",
    "OnBadRow",
    "Packages",
    "PlannedRefusal",
    "PlannedSchema",
    "ReadCounts",
    "ReadPlan",
    "ReasonColumns",
    "StreamProgress",
    "WritePlan",
    "bad_rows",
    "check_session",
    "choose_engine",
    "clear_errors",
    "counts_of",
    "from_registry",
    "good_rows",
    "packages",
    "plan_read",
    "plan_write",
    "read_stream",
    "read_topic",
    "reason_columns",
    "replay",
    "srfix_error_of",
    "start_session",
    "to_registry",
    "to_stderr",
    "watch_jobs",
    "watch_streams",
    "write_stream",
    "write_topic",
]
