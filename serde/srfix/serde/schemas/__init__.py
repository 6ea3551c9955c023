"""What a schema registry holds: schemas, versions and answers as values, errors by code, references. No HTTP client."""
