"""What runs in Spark's Python workers. No pyspark here."""

from srfix.serde.spark.worker.decode import plan_decoder, spark_type
from srfix.serde.spark.worker.encode import PlanEncoder, plan_encoder
from srfix.serde.spark.worker.judge import FACTORY, JudgedReader
