"""What `srfix state` does with each part of a store, here or on a Spark worker."""
