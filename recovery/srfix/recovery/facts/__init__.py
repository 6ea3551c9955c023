"""What one look at cluster, registry and state directories gathered."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from srfix.recovery.facts.applications import (
        ApplicationFacts,
        TopiclessSubject,
        has_topics,
        ksqldb_lacks,
        orphans,
        owners,
        signs_of_absence,
        topicless_subjects,
        without_trace,
    )
    from srfix.recovery.facts.bodies import Bodies, UndecodableRows, newest_bodies, whole_bodies
    from srfix.recovery.facts.changelogs import (
        ChangelogFacts,
        LostIds,
        contexts_of,
        real_changelogs,
        registry_roles,
        unknown_ids,
    )
    from srfix.recovery.facts.circumstances import (
        Circumstances,
        KnownStore,
        circumstances_document,
        circumstances_from,
        concerned,
    )
    from srfix.recovery.facts.decoding import (
        DecodedColumn,
        DecodedPart,
        DecodedRecord,
        Deserializer,
        RecordDecoder,
        iso_time,
        record_document,
        shown,
    )
    from srfix.recovery.facts.holders import Holder, Holders, find_holders, list_holders
    from srfix.recovery.facts.internal_schemas import (
        MARKS_OF_CONNECT,
        is_first_of_its_own,
        latest_own,
        marks_in,
        own_versions,
    )
    from srfix.recovery.facts.isolation import RestoreIsolation
    from srfix.recovery.facts.key_asymmetry import KeyAsymmetry, asymmetry
    from srfix.recovery.facts.key_role import KeyRole
    from srfix.recovery.facts.keys_of_store import keys_of_store, keys_under
    from srfix.recovery.facts.known_transactions import restore_isolation
    from srfix.recovery.facts.live_records import LiveRecord, newest_live
    from srfix.recovery.facts.processed_rows import ProcessedRows, compare_rows
    from srfix.recovery.facts.reader import WITH_FIX, CheckContext, Reader, StreamsVersion, range_in_words
    from srfix.recovery.facts.refusals import (
        NO_SUCH_QUESTION,
        WRITABLE_MODES,
        RegistrationRefusal,
        foreseen_refusals,
        mode_in_force,
    )
    from srfix.recovery.facts.rows_on_disk import (
        Place,
        RowCounter,
        StoreIds,
        count_rows,
        ids_by_changelog,
        of_registry_roles,
        places_of,
        read_rows,
    )
    from srfix.recovery.facts.store_rows import StoreRows
    from srfix.recovery.facts.stores import Membership, RoleFacts, StoreFacts, Suspect, SuspectStore
    from srfix.recovery.facts.subject_state import (
        SubjectState,
        VersionState,
        difference,
        held_version,
        level_of,
        look_up,
        read_subject_state,
        subject_state_document,
        subject_state_from,
        version_numbers,
    )
    from srfix.recovery.facts.supplied import GivenTopology, Supplied
    from srfix.recovery.facts.survey import Survey, ask_membership, schema_behind
    from srfix.recovery.facts.table_sources import own_processor, table_sources
    from srfix.recovery.facts.windowed_keys import key_deserializer
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "applications": [
                "ApplicationFacts",
                "TopiclessSubject",
                "has_topics",
                "ksqldb_lacks",
                "orphans",
                "owners",
                "signs_of_absence",
                "topicless_subjects",
                "without_trace",
            ],
            "bodies": ["Bodies", "UndecodableRows", "newest_bodies", "whole_bodies"],
            "changelogs": [
                "ChangelogFacts",
                "LostIds",
                "contexts_of",
                "real_changelogs",
                "registry_roles",
                "unknown_ids",
            ],
            "circumstances": [
                "Circumstances",
                "KnownStore",
                "circumstances_document",
                "circumstances_from",
                "concerned",
            ],
            "decoding": [
                "DecodedColumn",
                "DecodedPart",
                "DecodedRecord",
                "Deserializer",
                "RecordDecoder",
                "iso_time",
                "record_document",
                "shown",
            ],
            "holders": ["Holder", "Holders", "find_holders", "list_holders"],
            "isolation": ["RestoreIsolation"],
            "known_transactions": ["restore_isolation"],
            "internal_schemas": ["MARKS_OF_CONNECT", "is_first_of_its_own", "latest_own", "marks_in", "own_versions"],
            "key_asymmetry": ["KeyAsymmetry", "asymmetry"],
            "key_role": ["KeyRole"],
            "keys_of_store": ["keys_of_store", "keys_under"],
            "live_records": ["LiveRecord", "newest_live"],
            "processed_rows": ["ProcessedRows", "compare_rows"],
            "reader": ["CheckContext", "Reader", "StreamsVersion", "WITH_FIX", "range_in_words"],
            "refusals": [
                "NO_SUCH_QUESTION",
                "RegistrationRefusal",
                "WRITABLE_MODES",
                "foreseen_refusals",
                "mode_in_force",
            ],
            "rows_on_disk": [
                "Place",
                "RowCounter",
                "StoreIds",
                "count_rows",
                "ids_by_changelog",
                "of_registry_roles",
                "places_of",
                "read_rows",
            ],
            "store_rows": ["StoreRows"],
            "stores": ["Membership", "RoleFacts", "StoreFacts", "Suspect", "SuspectStore"],
            "subject_state": [
                "SubjectState",
                "VersionState",
                "difference",
                "held_version",
                "level_of",
                "look_up",
                "read_subject_state",
                "subject_state_document",
                "subject_state_from",
                "version_numbers",
            ],
            "supplied": ["GivenTopology", "Supplied"],
            "survey": ["Survey", "ask_membership", "schema_behind"],
            "table_sources": ["own_processor", "table_sources"],
            "windowed_keys": ["key_deserializer"],
        },
    )
