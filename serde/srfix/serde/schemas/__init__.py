"""The data of a schema registry: schemas, versions, answers as values, errors by code, references. No HTTP client."""
