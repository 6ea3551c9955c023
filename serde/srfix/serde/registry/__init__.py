"""Schema registry client, its models and its errors."""
