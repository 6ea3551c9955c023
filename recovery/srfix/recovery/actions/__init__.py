"""The writes of a repair: what each expects, leaves and undoes, in words and as JSON."""

from srfix.recovery.actions.actions import (
    Action,
    DeleteVersion,
    Register,
    RestoreCompatibility,
    RestoreMode,
    SetCompatibility,
    SetMode,
    SoftDelete,
    added_versions,
    as_it_came,
    has_happened,
    has_happened_in_part,
    perform,
    relaxed_fields,
    restore_config,
    restore_mode,
    restored_fields,
    soft_delete,
    with_given_ids,
)
from srfix.recovery.actions.document import action_document, action_from, describe, why_nothing_is_undone
