"""What Spark and Kafka's client said, as errors of srfix."""

from srfix.serde.spark.errors.driver_errors import BAD_ROW_END, UNWRITTEN_END, is_sparks, srfix_error_of
from srfix.serde.spark.errors.kafka_errors import kafka_error_of
from srfix.serde.spark.errors.missing_jars import missing_jar, without_jars
