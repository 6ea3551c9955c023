"""A Spark session with what srfix needs, or words on what is missing."""
