"""Spark readers and writers that use the serdes.

A plan decides everything on the driver, in plain Python; Spark carries it out. Importing this package does not load
pyspark; calling its functions does.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from srfix.serde.spark.choosing import choose_engine as choose_engine
    from srfix.serde.spark.errors import clear_errors as clear_errors
    from srfix.serde.spark.errors import srfix_error_of as srfix_error_of
    from srfix.serde.spark.interface import Engine as Engine
    from srfix.serde.spark.interface import Feed as Feed
    from srfix.serde.spark.interface import ListedVersion as ListedVersion
    from srfix.serde.spark.interface import NewestSchema as NewestSchema
    from srfix.serde.spark.interface import OnBadRow as OnBadRow
    from srfix.serde.spark.interface import PlannedRefusal as PlannedRefusal
    from srfix.serde.spark.interface import PlannedSchema as PlannedSchema
    from srfix.serde.spark.interface import ReasonColumns as ReasonColumns
    from srfix.serde.spark.interface import reason_columns as reason_columns
    from srfix.serde.spark.progress import JobProgress as JobProgress
    from srfix.serde.spark.progress import ReadCounts as ReadCounts
    from srfix.serde.spark.progress import StreamProgress as StreamProgress
    from srfix.serde.spark.progress import counts_of as counts_of
    from srfix.serde.spark.progress import to_stderr as to_stderr
    from srfix.serde.spark.read.jvm.read import EngineChoice as EngineChoice
    from srfix.serde.spark.read.plan import NEWEST as NEWEST
    from srfix.serde.spark.read.plan import ReadPlan as ReadPlan
    from srfix.serde.spark.read.plan import plan_read as plan_read
    from srfix.serde.spark.reading import bad_rows as bad_rows
    from srfix.serde.spark.reading import from_registry as from_registry
    from srfix.serde.spark.reading import good_rows as good_rows
    from srfix.serde.spark.reading import read_stream as read_stream
    from srfix.serde.spark.reading import read_topic as read_topic
    from srfix.serde.spark.reading import replay as replay
    from srfix.serde.spark.releases import Packages as Packages
    from srfix.serde.spark.releases import packages as packages
    from srfix.serde.spark.session import check_session as check_session
    from srfix.serde.spark.session import start_session as start_session
    from srfix.serde.spark.session import watch_jobs as watch_jobs
    from srfix.serde.spark.session import watch_streams as watch_streams
    from srfix.serde.spark.write.plan import WritePlan as WritePlan
    from srfix.serde.spark.write.plan import plan_write as plan_write
    from srfix.serde.spark.writing import to_registry as to_registry
    from srfix.serde.spark.writing import write_stream as write_stream
    from srfix.serde.spark.writing import write_topic as write_topic
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "choosing": ["choose_engine"],
            "errors": ["clear_errors", "srfix_error_of"],
            "interface": [
                "Engine",
                "Feed",
                "ListedVersion",
                "NewestSchema",
                "OnBadRow",
                "PlannedRefusal",
                "PlannedSchema",
                "ReasonColumns",
                "reason_columns",
            ],
            "progress": ["JobProgress", "ReadCounts", "StreamProgress", "counts_of", "to_stderr"],
            "read.jvm.read": ["EngineChoice"],
            "read.plan": ["NEWEST", "ReadPlan", "plan_read"],
            "reading": ["bad_rows", "from_registry", "good_rows", "read_stream", "read_topic", "replay"],
            "releases": ["Packages", "packages"],
            "session": ["check_session", "start_session", "watch_jobs", "watch_streams"],
            "write.plan": ["WritePlan", "plan_write"],
            "writing": ["to_registry", "write_stream", "write_topic"],
        },
    )
