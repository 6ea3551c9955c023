"""Which attacks run: one in a few of each kind, all of them with SRFIX_ATTACKS=all (`make fuzz`)."""

from __future__ import annotations

import os
from collections import Counter

import pytest

ONE_IN = {
    "test_an_answer_that_is_none_is_a_sentence": 4,
    "test_of_the_registry_and_ksqldb_in_any_form": 4,
    "test_of_kafka_in_any_form": 3,
    "test_copies_of_one_plan_never_leave_the_compatibility_at_none": 4,
    "test_reports_are_printable_and_json": 4,
    "test_apply_verify_and_rollback_go_the_whole_way": 4,
    "test_as_shell_does_what_apply_does_and_nothing_else": 2,
    "test_options_that_take_a_subject": 4,
    "test_headers_that_are_hostile_are_not_shown_as_they_are": 4,
    "test_a_registry_that_never_ends_is_given_up": 2,
    "test_whatever_a_file_holds_it_ends_in_a_report_or_a_sentence": 3,
    "test_wrong_types_with_the_right_digest_end_in_a_sentence": 4,
    "test_what_is_no_file_is_a_sentence": 3,
    "test_a_document_that_wants_too_much_hides_no_good_one": 2,
    "test_the_same_in_a_document_with_a_schema": 2,
    "test_headers_that_name_no_schema": 4,
    "test_a_ksqldb_that_says_nonsense_is_a_sentence": 3,
    "test_a_saved_answer_of_ksqldb_is_read_with_the_same_care": 3,
}
"""Tests that take a minute or so in all their cases; every case of the others runs each time."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("SRFIX_ATTACKS") == "all":
        return
    seen: Counter[str] = Counter()
    kept, left = [], []
    for item in items:
        name = getattr(item, "originalname", item.name)
        if "tests/hostile/" in item.nodeid and name in ONE_IN:
            seen[name] += 1
            if (seen[name] - 1) % ONE_IN[name]:
                left.append(item)
                continue
        kept.append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept
