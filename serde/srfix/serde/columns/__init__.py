"""Logical columns: the parts of a row, independent of the format. Their grammar is in `srfix.serde.columns.text`."""
