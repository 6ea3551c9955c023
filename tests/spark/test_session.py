"""The session that all other tests here stand on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="Linux tells what a process has mapped")
def test_its_java_maps_the_classes_that_the_first_session_left(spark: SparkSession) -> None:
    archive = os.environ["SPARK_SUBMIT_OPTS"].partition("SharedArchiveFile=")[2].split()[0]
    process = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    assert os.path.realpath(archive) in Path(f"/proc/{process}/maps").read_text()
