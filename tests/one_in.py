"""Which cases run: of a test that takes long in all its cases one in a few, all of them with SRFIX_ATTACKS=all
(`make fuzz`; `make stack SRFIX_ATTACKS=all`, `make test-spark SRFIX_ATTACKS=all`).

A test is in the table because somebody measured it; every case of the others runs each time.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Final

import pytest

ONE_IN: Final = {
    "tests/cli/sessions/test_cron.py::test_a_report_that_is_lost_is_no_success": 3,
    "tests/cli/test_forked.py::test_it_says_and_returns_the_same": 4,
    "tests/hostile/test_answers.py::test_a_ksqldb_that_says_nonsense_is_a_sentence": 3,
    "tests/hostile/test_answers.py::test_a_registry_that_never_ends_is_given_up": 2,
    "tests/hostile/test_answers.py::test_a_saved_answer_of_ksqldb_is_read_with_the_same_care": 3,
    "tests/hostile/test_answers.py::test_an_answer_that_is_none_is_a_sentence": 4,
    "tests/hostile/test_answers.py::test_headers_that_are_hostile_are_not_shown_as_they_are": 4,
    "tests/hostile/test_files_and_secrets.py::test_of_kafka_in_any_form": 3,
    "tests/hostile/test_files_and_secrets.py::test_of_the_registry_and_ksqldb_in_any_form": 4,
    "tests/hostile/test_files_and_secrets.py::test_whatever_a_file_holds_it_ends_in_a_report_or_a_sentence": 3,
    "tests/hostile/test_journals.py::test_copies_of_one_plan_never_leave_the_compatibility_at_none": 4,
    "tests/hostile/test_journals.py::test_what_is_no_file_is_a_sentence": 3,
    "tests/hostile/test_journals.py::test_wrong_types_with_the_right_digest_end_in_a_sentence": 4,
    "tests/hostile/test_names_as_code.py::test_apply_verify_and_rollback_go_the_whole_way": 4,
    "tests/hostile/test_names_as_code.py::test_as_shell_does_what_apply_does_and_nothing_else": 2,
    "tests/hostile/test_names_as_code.py::test_options_that_take_a_subject": 4,
    "tests/hostile/test_names_as_code.py::test_reports_are_printable_and_json": 4,
    "tests/hostile/test_topics.py::test_headers_that_name_no_schema": 4,
    "tests/hostile/test_values_json.py::test_a_document_that_wants_too_much_hides_no_good_one": 2,
    "tests/hostile/test_values_json.py::test_the_same_in_a_document_with_a_schema": 2,
    "tests/recovery/repair/planning/test_exact_ids.py::test_it_is_taken_up_again_wherever_it_died": 3,
    "tests/recovery/repair/planning/test_foreseen_ids.py::test_it_is_taken_up_again_wherever_it_died": 3,
    "tests/recovery/repair/test_shell_script_hostile.py::test_whatever_the_registry_answers": 2,
    "tests/serde/fuzz/test_hostile.py::test_no_payload_takes_more_than_it_may": 2,
    "tests/serde/fuzz/test_resources.py::test_a_payload_that_asks_for_too_much_gets_nothing": 3,
    "tests/spark/test_local_times.py::test_every_number_is_what_its_unit_says_or_a_bad_row": 5,
    "tests/spark/test_local_times.py::test_local_times_are_read_as_they_were_written": 5,
    "tests/stack/test_guard_foretells.py::test_what_it_foretells_of_a_topology_is_what_running_it_does": 3,
}
"""A test → of how many of its cases, in the order they come in, the first is run."""


def runs_all() -> bool:
    """Whether every case is to run."""
    return os.environ.get("SRFIX_ATTACKS") == "all"


def those_that_run(items: list[pytest.Item]) -> list[pytest.Item]:
    """The cases that run this time, in their order."""
    if runs_all():
        return items
    seen: Counter[str] = Counter()
    kept = []
    for item in items:
        name = f"{item.nodeid.partition('::')[0]}::{getattr(item, 'originalname', item.name)}"
        seen[name] += 1
        if (seen[name] - 1) % ONE_IN.get(name, 1) == 0:
            kept.append(item)
    return kept
