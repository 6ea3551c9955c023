"""The jvm engine: what Spark's own Avro is told. No pyspark here."""

from srfix.serde.spark.jvm.engine_choice import EngineChoice
from srfix.serde.spark.jvm.fixes import Bounds, EntriesToMap, Fix, OfFields, OfItems, OfValues, makes
from srfix.serde.spark.jvm.read import AFTER, ROW, JvmRead, JvmShape, jvm_read
