"""Spark readers and writers on the serdes.

What will happen is decided in a plan, on the driver and in plain Python; Spark carries it out. Importing this package
loads no pyspark: its functions do when they are called.
"""

from srfix.serde.spark.interface import Feed, ListedVersion, NewestSchema, PlannedRefusal, PlannedSchema
from srfix.serde.spark.plan import NEWEST, ReadPlan, plan_read

__all__ = [
    "Feed",
    "ListedVersion",
    "NEWEST",
    "NewestSchema",
    "PlannedRefusal",
    "PlannedSchema",
    "ReadPlan",
    "plan_read",
]
