"""The contents of `scan`, `subjects`, `schema` and `doctor`."""
