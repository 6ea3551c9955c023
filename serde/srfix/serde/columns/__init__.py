"""Logical columns: the parts of a row, independent of the format.

`parse_columns("ID INT, `caseField` STRING, TAGS ARRAY<STRING>")` reads ksqlDB's notation (the grammar is in
`srfix.serde.columns.text`); an unquoted name means upper case.

`half_of` gives the columns of a key or a value.
"""
