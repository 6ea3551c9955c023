"""What `scan`, `subjects`, `schema` and `doctor` show."""

from srfix.recovery.inspect.census_document import census_document
from srfix.recovery.inspect.checkup import (
    ConnectionCheck,
    Outcome,
    check_cluster,
    check_registry,
    check_registry_urls,
    check_servers,
    not_named,
)
from srfix.recovery.inspect.internal_subjects import (
    InternalSubject,
    InternalSubjects,
    SubjectClass,
    list_internal_subjects,
)
from srfix.recovery.inspect.scan import Scan, scan_topic
from srfix.recovery.inspect.standing import Acceptance, Standing, acceptance_of, standing_of
