"""What `srfix state` does with the stores on disk: shows, compares, exports and places them, here or on a Spark worker."""
