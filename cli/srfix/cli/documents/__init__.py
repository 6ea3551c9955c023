"""The JSON Schemas of every document that srfix writes, as files of the wheel."""

from srfix.cli.documents.published import DOCUMENTS, PublishedDocument, document_named, schema_text
