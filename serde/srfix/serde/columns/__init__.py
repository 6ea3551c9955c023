"""Logical columns: what a row is made of, whatever the format.

`parse_columns("ID INT, `caseField` STRING, TAGS ARRAY<STRING>")` reads ksqlDB's words (the grammar is in
`srfix.serde.columns.text`); an unquoted name means upper case.

`half_of` says what a key or a value is made of.
"""
