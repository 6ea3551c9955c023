"""What ksqlDB knows of its queries: asked live, or read from what a person saved."""

from srfix.recovery.ksqldb.client import KsqldbClient, ksqldb_bounds
from srfix.recovery.ksqldb.cluster_status import ServerStatus
from srfix.recovery.ksqldb.models import KsqldbAnswers, QueryDescription
from srfix.recovery.ksqldb.saved import parse_saved_answers
from srfix.recovery.ksqldb.versions import is_at_least
