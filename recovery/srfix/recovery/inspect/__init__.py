"""What `scan`, `subjects`, `schema` and `doctor` show."""
