"""The name under which Spark finds `format(\"srfix\")`."""
