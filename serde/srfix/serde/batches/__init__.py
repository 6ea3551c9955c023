"""Many payloads at a time, with bad rows as values."""

from srfix.serde.batches.arrow_payloads import refuse_malformed, usable_payloads
from srfix.serde.batches.batches import deserialize_many
from srfix.serde.batches.rows import (
    ROWS_AT_A_TIME,
    BadRow,
    Contexts,
    GivenContexts,
    OnError,
    Payloads,
    Reason,
    chunks_of_rows,
    contexts_of,
    error_at,
    payloads_from,
    reason_of,
    usable_contexts,
    without_frames,
)
