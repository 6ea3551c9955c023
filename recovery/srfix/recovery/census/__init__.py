"""Which schema ids live where in a topic: an interface, and one module per engine."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from srfix.recovery.census.interface import (
        Census,
        CensusEngine,
        CensusProgress,
        CensusRequest,
        IdCount,
        PartitionCensus,
        RoleCensus,
    )
    from srfix.recovery.census.local import LocalCensus
    from srfix.recovery.census.processes import ProcessCensus
    from srfix.recovery.census.spark import SparkCensus
    from srfix.recovery.census.spark_jobs import finished
    from srfix.recovery.census.spark_sql import latest_sql
    from srfix.recovery.census.spark_topic import SparkTopics, failure_in_short
    from srfix.recovery.census.uncounted import NOT_READ, NoCensus
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "interface": [
                "Census",
                "CensusEngine",
                "CensusProgress",
                "CensusRequest",
                "IdCount",
                "PartitionCensus",
                "RoleCensus",
            ],
            "local": ["LocalCensus"],
            "processes": ["ProcessCensus"],
            "spark": ["SparkCensus"],
            "spark_jobs": ["finished"],
            "spark_sql": ["latest_sql"],
            "spark_topic": ["SparkTopics", "failure_in_short"],
            "uncounted": ["NOT_READ", "NoCensus"],
        },
    )
