"""The work of `srfix state` with stores on disk: show, compare, export and place them, here or on a Spark worker."""
