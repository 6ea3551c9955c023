"""Schema id or GUID → writer schema, and under which subject: by id, under one subject, dual subject."""
