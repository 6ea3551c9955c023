"""The JSON Schemas of every document that srfix writes, as files of the wheel."""
