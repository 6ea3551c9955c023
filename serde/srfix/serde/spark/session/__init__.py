"""A Spark session with what srfix needs, or words on what is missing."""

from srfix.serde.spark.session.session import jars_of_this_thread, start_session
