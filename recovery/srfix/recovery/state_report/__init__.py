"""What `srfix state` shows of the stores on disk."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from srfix.recovery.state_report.difference_kinds import Comparison, Difference, DifferenceKind
    from srfix.recovery.state_report.differences import compared, diff_document, in_window
    from srfix.recovery.state_report.estimates import RestoreEstimate, estimate_document, estimate_restore, topic_of
    from srfix.recovery.state_report.export_formats import HOLDS_TYPES, ExportFormat
    from srfix.recovery.state_report.exporting import Write, exporting
    from srfix.recovery.state_report.hosts import HostRole, TaskHost, hosts_by_group, hosts_by_ksqldb, task_of
    from srfix.recovery.state_report.key_reads import (
        AskedSubject,
        KeyRead,
        NewestRecord,
        asked_subjects,
        is_failing,
        key_in_topic,
        newest_record,
        read_key,
        record_ids,
    )
    from srfix.recovery.state_report.listing import (
        Generation,
        databases_of,
        generation_of,
        is_task_in_use,
        listing_document,
    )
    from srfix.recovery.state_report.not_registered import rows_not_registered
    from srfix.recovery.state_report.partitions import murmur2, partition_of
    from srfix.recovery.state_report.retention import Retention
    from srfix.recovery.state_report.rocksdb_log import RocksDBLog, log_that_hurts, parse_log, read_logs
    from srfix.recovery.state_report.rocksdb_options import (
        RocksDBOptions,
        newest_options,
        options_that_hurt,
        parse_options,
    )
    from srfix.recovery.state_report.row_documents import (
        ROWS_DECODED_TOGETHER,
        SIDES,
        DecodedBatch,
        DecodedRow,
        decoded_batches,
        decoded_rows,
        row_document,
    )
    from srfix.recovery.state_report.row_filter import RowFilter, keys_that_read_as, rows_of_key
    from srfix.recovery.state_report.sizes import AGES, StoreSize, size_document, size_of
    from srfix.recovery.state_report.store_forms import StoreForm, form_of, forms_of, unreadable_stores
    from srfix.recovery.state_report.typed_columns import TypedColumn, typed_columns
    from srfix.recovery.state_report.whereabouts import Holder, Whereabouts, where_document, whereabouts
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "difference_kinds": ["Comparison", "Difference", "DifferenceKind"],
            "differences": ["compared", "diff_document", "in_window"],
            "estimates": ["RestoreEstimate", "estimate_document", "estimate_restore", "topic_of"],
            "exporting": ["Write", "exporting"],
            "export_formats": ["HOLDS_TYPES", "ExportFormat"],
            "hosts": ["HostRole", "TaskHost", "hosts_by_group", "hosts_by_ksqldb", "task_of"],
            "key_reads": [
                "AskedSubject",
                "KeyRead",
                "NewestRecord",
                "asked_subjects",
                "is_failing",
                "key_in_topic",
                "newest_record",
                "read_key",
                "record_ids",
            ],
            "listing": ["Generation", "databases_of", "generation_of", "is_task_in_use", "listing_document"],
            "not_registered": ["rows_not_registered"],
            "partitions": ["murmur2", "partition_of"],
            "retention": ["Retention"],
            "rocksdb_log": ["RocksDBLog", "log_that_hurts", "parse_log", "read_logs"],
            "rocksdb_options": ["RocksDBOptions", "newest_options", "options_that_hurt", "parse_options"],
            "row_documents": [
                "ROWS_DECODED_TOGETHER",
                "SIDES",
                "DecodedBatch",
                "DecodedRow",
                "decoded_batches",
                "decoded_rows",
                "row_document",
            ],
            "row_filter": ["RowFilter", "keys_that_read_as", "rows_of_key"],
            "sizes": ["AGES", "StoreSize", "size_document", "size_of"],
            "store_forms": ["StoreForm", "form_of", "forms_of", "unreadable_stores"],
            "typed_columns": ["TypedColumn", "typed_columns"],
            "whereabouts": ["Holder", "Whereabouts", "where_document", "whereabouts"],
        },
    )
