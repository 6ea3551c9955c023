"""How Kafka Streams lays keys and values out in its stores and changelogs, byte for byte, both ways.

Pure: bytes in, what they say out, and back. Bytes of another form raise a `FormatError`. Integers are big-endian. The classes
named are those of Apache Kafka 4.3.0; what differs by version is said.
"""

from srfix.recovery.state.formats.lists import (
    JoinSideKey,
    Side,
    SidedValue,
    decode_join_side_key,
    decode_list,
    decode_sided_value,
    encode_join_side_key,
    encode_list,
    encode_sided_value,
)
from srfix.recovery.state.formats.positions import decode_position, encode_position
from srfix.recovery.state.formats.sessions import (
    SessionKey,
    decode_key_first_session_key,
    decode_session_key,
    decode_time_first_session_key,
    encode_key_first_session_key,
    encode_session_key,
    encode_time_first_session_key,
)
from srfix.recovery.state.formats.subscriptions import (
    CombinedKey,
    Subscription,
    decode_combined_key,
    decode_subscription,
    encode_combined_key,
    encode_subscription,
)
from srfix.recovery.state.formats.suppression import (
    BufferedValue,
    RecordContext,
    decode_buffered_value,
    encode_buffered_value,
)
from srfix.recovery.state.formats.values import (
    Headers,
    StoredValue,
    decode_aggregate_with_headers,
    decode_timestamped,
    decode_with_headers,
    encode_aggregate_with_headers,
    encode_timestamped,
    encode_with_headers,
)
from srfix.recovery.state.formats.versioned import (
    LATEST_SEGMENT,
    VersionedKey,
    VersionedRecord,
    VersionedSegment,
    decode_latest,
    decode_versioned_key,
    decode_versioned_segment,
    encode_latest,
    encode_versioned_key,
    encode_versioned_segment,
    versioned_segment_interval_ms,
)
from srfix.recovery.state.formats.windows import (
    WindowStoreKey,
    decode_key_first_window_key,
    decode_time_first_window_key,
    decode_window_store_key,
    encode_key_first_window_key,
    encode_time_first_window_key,
    encode_window_store_key,
)
