"""The commands of `srfix state`."""
