"""Schema id or GUID → writer schema and subject: by id, under one subject, or dual subject."""
