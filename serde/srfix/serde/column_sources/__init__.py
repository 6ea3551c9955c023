"""Columns from other descriptions of rows.

| columns from | function | function that also gives the fields that are left out |
|---|---|---|
| ksqlDB's column list | `parse_columns`; back: `print_columns` | |
| an Avro schema | `columns_from_avro` | `formats.avro.infer_columns` |
| a JSON Schema | `columns_from_json_schema` | `formats.json_schema.infer_columns` |
| a Protobuf schema | `columns_from_protobuf` | `formats.protobuf.format.infer_columns` |
| JSON samples | `columns_from_json` | `infer_json` |
| a Spark `StructType` or its JSON | `columns_from_spark`; back: `spark_schema` | |
| a Python dataclass | `columns_from_dataclass` | |
"""
