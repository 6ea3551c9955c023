"""What ksqlDB knows of its queries: asked live, or read from what a person saved."""

from srfix.recovery.ksqldb.client import KsqldbClient, ksqldb_bounds
from srfix.recovery.ksqldb.models import KsqldbAnswers, QueryDescription, ServerInfo, SourceDescription
from srfix.recovery.ksqldb.saved import parse_saved_answers

__all__ = [
    "KsqldbAnswers",
    "KsqldbClient",
    "QueryDescription",
    "ServerInfo",
    "SourceDescription",
    "ksqldb_bounds",
    "parse_saved_answers",
]
