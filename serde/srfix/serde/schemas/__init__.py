"""The data of a schema registry: schemas, versions and answers as values, errors by code, references. No HTTP
client."""
