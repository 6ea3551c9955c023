"""What to do around a repair: every sentence follows from what is known of the application, and what is not is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from srfix.recovery.advice.playbook import (
    Verified,
    after_repair,
    afterwards,
    afterwards_in_short,
    before_repair,
    playbook,
    prevention,
    until_repaired,
    upon_verification,
    upon_verification_in_short,
)
from srfix.recovery.checks import srf017
from srfix.recovery.commands import Given, GivenOption
from srfix.recovery.diagnosis.findings_advice import upon_findings
from srfix.recovery.facts.circumstances import Circumstances, KnownStore
from srfix.recovery.facts.reader import Reader, StreamsVersion
from srfix.recovery.findings import Evidence, Finding, IdAtFault, Severity, Source, Weight
from srfix.serde.subjects.names import Role, Subject, Topic
from srfix.serde.wire import SchemaId

USERS = KnownStore(name="users-store", topic=Topic("users"))
NOTHING_KNOWN = Circumstances(application="shop", stores=(USERS,))
QUERY = replace(NOTHING_KNOWN, application="_confluent-ksql-default_query_CTAS_T_7", query="CTAS_T_7")


def running(known: Circumstances, members: int) -> Circumstances:
    return replace(known, members=members, state="Stable" if members else "Empty")


def on(known: Circumstances, oldest: str | None, newest: str | None) -> Circumstances:
    return replace(
        known,
        oldest=None if oldest is None else StreamsVersion.parse(oldest),
        newest=None if newest is None else StreamsVersion.parse(newest),
    )


def finding(code: str, severity: Severity, *, repairable: bool = False, is_partial: bool = False) -> Finding:
    fault = IdAtFault(schema_id=SchemaId(1), live_keys=1, records=1, partitions=(), is_partial=is_partial)
    return Finding(
        code=code,
        severity=severity,
        application="shop",
        store="users-store",
        role=Role.VALUE,
        subject=Subject("shop-users-store-changelog-value"),
        source=None,
        schema_ids=(fault,),
        explanation="e",
        next="n",
        repairable=repairable,
    )


def proven(found: Finding, *, weight: Weight = Weight.CONCLUSIVE) -> Finding:
    """The finding, of a store whose source a topology names."""
    users = Topic("users")
    piece = Evidence(kind="topology", topic=users, weight=weight, detail="d")
    return replace(found, source=Source(topic=users, subject=Subject("users-value")), evidence=(piece,))


class TestRestart:
    @staticmethod
    def words(known: Circumstances, when: str = "now") -> str:
        return next(iter(after_repair(known, when=when)))

    def test_an_application_that_is_up_reads_at_once(self) -> None:
        said = self.words(running(on(NOTHING_KNOWN, None, "2.6"), 2))
        assert said == (
            "After: the group of shop has 2 members now (Stable): what is up reads at once, without a restart. If that "
            "is fewer "
            "than the threads you run, restart the instances whose thread died: Kafka Streams up to 2.6 does not "
            "replace a thread "
            "that died."
        )

    def test_one_that_is_down_is_to_be_started(self) -> None:
        said = self.words(running(on(NOTHING_KNOWN, "2.6", "2.6"), 0), "when the repair was planned")
        assert said.startswith(
            "After: the group of shop has no members when the repair was planned (Empty): it is stopped, or all its "
            "threads have "
            "died. Start it, and restart the processes that still run without a thread: Kafka Streams 2.6 does not "
            "replace"
        )

    def test_where_the_cluster_does_not_say_both_are_told_with_the_reason(self) -> None:
        said = self.words(replace(NOTHING_KNOWN, problem="this user may not ask"))
        assert said.startswith(
            "After: whether shop runs is not known: this user may not ask. An instance that is up reads at"
        )
        assert "Restart those whose stream thread died" in said

    @pytest.mark.parametrize(
        ("oldest", "newest", "says"),
        [
            (None, "2.6", "Kafka Streams up to 2.6 does not replace a thread that died"),
            ("2.4", "2.7", "Kafka Streams 2.4 to 2.7 does not replace"),
            ("2.8", None, "Kafka Streams 2.8 or later replaces a thread that died only where"),
            (
                "2.4",
                "3.2",
                "only from Kafka Streams 2.8 on, where the uncaught exception handler says so (which version runs is ",
            ),
            ("2.4", "3.2", "is not known, seen: 2.4 to 3.2)"),
            (None, None, "(which version runs is not known)"),
        ],
    )
    def test_threads_are_replaced_from_2_8_on(self, oldest: str | None, newest: str | None, says: str) -> None:
        assert says in self.words(running(on(NOTHING_KNOWN, oldest, newest), 1))

    @pytest.mark.parametrize(
        ("version", "retries"),
        [("0.10.1", False), ("0.12.0", False), ("0.13.0", True), ("0.29.0", True), ("6.0.1", False), ("7.4.0", True)],
    )
    def test_ksqldb_retries_by_itself_from_0_13_on(self, version: str, retries: bool) -> None:
        said = self.words(replace(QUERY, ksqldb_version=version))
        assert (f"ksqlDB {version} retries it without anybody's help" in said) is retries
        assert (f"ksqlDB {version} never retries a query, so restart the ksqlDB server" in said) is not retries

    def test_a_ksqldb_that_nobody_asked_may_do_either(self) -> None:
        said = self.words(running(QUERY, 0))
        assert "the group of query CTAS_T_7 has no members now (Empty)" in said
        assert "ksqlDB 0.13 (Confluent Platform 6.1) and later retry it" in said
        assert "Which version runs is not known; --ksqldb URL tells." in said

    def test_what_ksqldb_says_of_the_query_is_said(self) -> None:
        assert "query CTAS_T_7 (ERROR)" in self.words(replace(QUERY, query_state="ERROR"))


class TestStandbys:
    def test_hold_the_source_and_need_nothing(self) -> None:
        assert [line for line in after_repair(NOTHING_KNOWN, when="now") if "standbys" in line] == [
            "After: standbys, if it has any (num.standby.replicas), hold the bytes of topic users as they are: the "
            "repair covers "
            "them, nothing is to be rebuilt, and a fail-over to one reads."
        ]

    def test_a_global_store_has_none(self) -> None:
        known = replace(NOTHING_KNOWN, stores=(replace(USERS, is_global=True),))
        (said,) = [line for line in after_repair(known, when="now") if "standbys" in line]
        assert said.startswith("After: the global store users-store is whole on every instance and has no standbys")


class TestBefore:
    @pytest.mark.parametrize(
        ("oldest", "newest", "says"),
        [
            (None, "2.6", "Do not wipe the state: on Kafka Streams up to 2.6 that is what causes the incident."),
            (
                "2.7",
                None,
                "Wiping the state is not needed for this repair; on Kafka Streams 2.7 or later it does not cause",
            ),
            ("2.4", "3.2", "and which version runs is not known (seen: 2.4 to 3.2)."),
            (
                None,
                None,
                "Do not wipe the state: on Kafka Streams 2.6.3 and earlier that is what causes the incident, and",
            ),
        ],
    )
    def test_wiping_is_warned_of_where_it_may_cause_the_incident(
        self, oldest: str | None, newest: str | None, says: str
    ) -> None:
        assert says in next(iter(before_repair(on(NOTHING_KNOWN, oldest, newest))))

    @pytest.mark.parametrize(
        ("known", "warned"),
        [
            (NOTHING_KNOWN, True),
            (on(NOTHING_KNOWN, "2.6", "2.6"), True),
            (on(NOTHING_KNOWN, "2.7", "2.7"), False),
            (replace(NOTHING_KNOWN, reader=Reader.CONNECT), True),
            (replace(NOTHING_KNOWN, reader=Reader.DUAL), False),
            (QUERY, False),
        ],
    )
    def test_an_upgrade_with_kept_state_is_warned_of_where_it_would_break(
        self, known: Circumstances, warned: bool
    ) -> None:
        assert any("with its state kept" in line for line in before_repair(known)) is warned

    def test_terminate_and_drop_are_ksqldbs(self) -> None:
        assert any("no TERMINATE of query CTAS_T_7 and no DROP" in line for line in before_repair(QUERY))
        assert not any("TERMINATE" in line for line in before_repair(NOTHING_KNOWN))


class TestPrevention:
    def test_below_2_7_three_ways(self) -> None:
        (said,) = prevention(on(NOTHING_KNOWN, None, "2.6"))
        assert said.startswith(
            "To prevent the next one: run srfix diagnose after every new schema of topic users, for as long"
        )
        assert "changelog of its own, seeded first, or the table starts empty" in said
        for code in ("SRF004", "SRF016", "SRF017"):
            assert code in said

    def test_a_global_table_can_have_no_changelog_of_its_own(self) -> None:
        (said,) = prevention(replace(NOTHING_KNOWN, stores=(replace(USERS, is_global=True),)))
        assert "seeded first" not in said
        assert "upgrade to Kafka Streams 2.7" in said

    def test_an_upgrade_is_not_advised_while_it_would_fail(self) -> None:
        rules = srf017.CHECK.advice.rules
        assert rules is not None
        (said,) = prevention(NOTHING_KNOWN, rules.upgrade)
        assert "but not before SRF017 is mended" in said

    def test_from_2_7_on_what_can_still_fail(self) -> None:
        (said,) = prevention(on(NOTHING_KNOWN, "3.3", None))
        assert said.startswith("Later: Kafka Streams 3.3 or later asks the source's own subject.")

    @pytest.mark.parametrize("reader", [Reader.PLAIN, Reader.DUAL])
    def test_a_reader_that_needs_no_version_is_safe_while_it_stays(self, reader: Reader) -> None:
        (said,) = prevention(replace(NOTHING_KNOWN, reader=reader))
        assert said.startswith(f"Later: a {reader.value} reader does not need the phantom subject's versions;")

    @pytest.mark.parametrize(
        ("version", "says"),
        [
            (None, "or upgrade to ksqlDB 0.11 (Confluent Platform 6.1) or later (which one runs is not known)"),
            ("0.10.2", "or upgrade to ksqlDB 0.11 (Confluent Platform 6.1) or later:"),
            ("0.11.0", "ksqlDB 0.11.0 itself asks the source's subject where the phantom one lacks the id of a value."),
        ],
    )
    def test_ksqldb_has_its_own_cure(self, version: str | None, says: str) -> None:
        (said,) = prevention(replace(QUERY, ksqldb_version=version))
        assert says in said
        assert "Kafka Streams 2.7" not in said


class TestPlaybook:
    def test_nothing_to_repair_is_nothing_to_do(self) -> None:
        assert list(playbook([])) == []

    def test_one_application_is_not_named_before_each_line(self) -> None:
        lines = list(playbook([NOTHING_KNOWN]))
        assert [line.split()[0] for line in lines] == ["Before:", "Before:", "Repair:", "After:", "After:", "To"]

    def test_several_with_different_facts_are_told_apart(self) -> None:
        lines = list(playbook([running(on(NOTHING_KNOWN, "2.6", "2.6"), 3), running(QUERY, 0)]))
        assert len([line for line in lines if line.startswith("Repair:")]) == 1
        of_shop = [line for line in lines if line.startswith("shop: ")]
        of_query = [line for line in lines if line.startswith(f"{QUERY.application}: ")]
        assert len(of_shop) + len(of_query) + 1 == len(lines)
        assert any("has 3 members when the repair was planned" in line for line in of_shop)
        assert any("has no members when the repair was planned" in line for line in of_query)
        assert any("TERMINATE" in line for line in of_query)
        assert not any("TERMINATE" in line for line in of_shop)

    def test_what_is_left_after_the_repair_is_its_end(self) -> None:
        lines = list(playbook([NOTHING_KNOWN, QUERY]))
        left = list(afterwards([NOTHING_KNOWN, QUERY]))
        assert (
            lines[lines.index("Repair: carry the plan out with srfix apply, then check it with srfix verify.") + 1 :]
            == left
        )


class TestInShort:
    """The same in a sentence or two, each said once for all applications of which it is true."""

    def test_nothing_to_repair_is_nothing_to_do(self) -> None:
        assert until_repaired([]) is None
        assert (list(afterwards_in_short([])), list(upon_verification_in_short([]))) == ([], [])

    def test_what_not_to_do_until_it_is_done(self) -> None:
        assert until_repaired([on(NOTHING_KNOWN, "2.6", "2.6"), QUERY]) == (
            "Before it stop clean-up jobs and deployments, and copy the state directory. Until it is done do not wipe a state "
            "directory, restart anything, upgrade to Kafka Streams 2.7 or later or TERMINATE or DROP a query."
        )

    def test_from_2_7_on_wiping_is_not_forbidden(self) -> None:
        said = until_repaired([on(NOTHING_KNOWN, "2.8", "2.8")])
        assert said is not None
        assert said.endswith("Until it is done do not restart anything.")

    @pytest.mark.parametrize(
        ("known", "says"),
        [
            (
                NOTHING_KNOWN,
                "What is up reads at once, without a restart; restart the instances whose stream thread died.",
            ),
            (
                running(NOTHING_KNOWN, 0),
                "The group has no members when the repair was planned; start it, and restart the",
            ),
            (
                QUERY,
                "What is up reads at once, without a restart; ksqlDB 0.13 (Confluent Platform 6.1) and later retry a",
            ),
            (
                replace(QUERY, ksqldb_version="0.10.1"),
                "ksqlDB 0.10.1 never retries a failed query: restart its server.",
            ),
            (
                replace(QUERY, ksqldb_version="0.29.0"),
                "ksqlDB 0.29.0 retries a failed query by itself, after 15 s to 15 min.",
            ),
        ],
    )
    def test_afterwards_it_says_what_the_evidence_does(self, known: Circumstances, says: str) -> None:
        restart, again = afterwards_in_short([known])
        assert says in restart
        assert again == "Run srfix diagnose after every new schema of topic users."

    def test_one_sentence_for_all_of_which_it_is_true(self) -> None:
        till = replace(NOTHING_KNOWN, application="till")
        together, _again = afterwards_in_short([NOTHING_KNOWN, till])
        assert together.startswith("What is up reads at once")
        of_two, of_query, _again = afterwards_in_short([NOTHING_KNOWN, till, QUERY])
        assert of_two.startswith("shop, till: what is up reads at once")
        assert of_query.startswith(f"{QUERY.application}: what is up reads at once")

    def test_where_the_next_schema_breaks_nothing_no_look_is_asked_for(self) -> None:
        assert len(list(afterwards_in_short([on(NOTHING_KNOWN, "3.0", "3.0")]))) == 1
        assert len(list(afterwards_in_short([replace(NOTHING_KNOWN, reader=Reader.DUAL)]))) == 1

    def test_upon_verification_the_worst_stands_first(self) -> None:
        broken, unseen, keys, fine = (replace(NOTHING_KNOWN, application=name) for name in ("a", "b", "c", "d"))
        said = list(
            upon_verification_in_short(
                [
                    (fine, Verified.HOLDS),
                    (keys, Verified.KEYS_MISS),
                    (unseen, Verified.NOT_SEEN),
                    (broken, Verified.PROBLEMS),
                ]
            )
        )
        assert [line.split()[:4] for line in said] == [
            ["Do", "not", "wipe", "a"],
            ["Do", "not", "rely", "on"],
            ["What", "is", "down", "in"],
            ["What", "is", "up", "reads"],
            ["Run", "srfix", "diagnose", "after"],
        ]
        assert "`srfix plan --application a -o new-plan.json`" in said[0]

    def test_several_broken_ones_are_planned_together(self) -> None:
        outcomes = [(NOTHING_KNOWN, Verified.PROBLEMS), (QUERY, Verified.PROBLEMS)]
        (said,) = upon_verification_in_short(outcomes)
        assert "`srfix plan -o new-plan.json`" in said


class TestUponFindings:
    def test_the_incident_takes_the_whole_way(self) -> None:
        said = list(upon_findings(NOTHING_KNOWN, [finding("SRF001", Severity.BROKEN, repairable=True)]))
        assert [line.split()[0] for line in said] == ["Before:", "Before:", "Repair:", "After:", "After:", "To"]

    def test_an_undecided_source_is_asked_for_before_any_repair(self) -> None:
        said = list(upon_findings(NOTHING_KNOWN, [finding("SRF001", Severity.BROKEN)]))
        first = "First say which topic is restored from, with --source shop/users-store=TOPIC"
        assert any(line.startswith(first) for line in said)
        assert not any(line.startswith("Repair:") for line in said)

    def test_a_masked_store_needs_neither_repair_nor_restart(self) -> None:
        said = list(upon_findings(NOTHING_KNOWN, [finding("SRF003", Severity.NOTE)]))
        assert said[0].startswith("Nothing is broken at this time: no repair and no restart.")
        assert said[1].startswith("To prevent the next one: ")

    def test_a_partial_census_is_never_called_unbroken(self) -> None:
        said = list(upon_findings(NOTHING_KNOWN, [finding("SRF003", Severity.NOTE, is_partial=True)]))
        assert said[0].startswith("Nothing was found broken in what was read, but the topic was not read to its end")

    def test_where_nothing_fails_the_reason_is_said(self) -> None:
        fixed = on(NOTHING_KNOWN, "3.3", None)
        said = list(upon_findings(fixed, [finding("SRF001", Severity.NOTE, repairable=True)]))
        assert said[0] == (
            "Nothing to repair and nothing to restart: Kafka Streams 3.3 or later asks the source's own subject."
        )

    def test_what_no_registration_mends_is_not_helped_by_a_wipe_either(self) -> None:
        said = list(upon_findings(NOTHING_KNOWN, [finding("SRF011", Severity.BROKEN)]))
        assert len(said) == 1
        assert said[0].startswith("Neither a restart nor wiping the state directory mends what was found")

    def test_the_upgrade_mirror_asks_how_old_the_state_is_and_allows_a_wipe(self) -> None:
        mirror = proven(finding("SRF004", Severity.BREAKS_ON_UPGRADE, repairable=True))
        said = list(upon_findings(NOTHING_KNOWN, [mirror]))
        assert said[0].startswith("Is the state of users-store older than the upgrade of shop to Kafka Streams 2.7? ")
        assert "or wipe the state once 2.7 or later runs everywhere" in said[0]
        assert said[1].startswith("After: ")
        assert len(said) == 2

    @pytest.mark.parametrize("weight", [Weight.STRONG, Weight.WEAK])
    def test_no_wipe_is_advised_where_the_source_is_not_proven(self, weight: Weight) -> None:
        mirror = proven(finding("SRF004", Severity.BREAKS_ON_UPGRADE, repairable=True), weight=weight)
        said = list(upon_findings(NOTHING_KNOWN, [mirror]))
        assert "do not wipe it while no evidence is conclusive about the topic" in said[0]
        assert "or wipe the state" not in " ".join(said)

    def test_nor_where_retention_has_deleted_rows_from_the_source(self) -> None:
        mirror = proven(finding("SRF004", Severity.BREAKS_ON_UPGRADE, repairable=True))
        said = list(upon_findings(NOTHING_KNOWN, [mirror, finding("SRF018", Severity.SILENT)]))
        assert "do not wipe it, for a restore has lost what retention deleted (SRF018)" in said[0]

    def test_the_commands_repeat_what_was_given(self) -> None:
        given = Given(options=(GivenOption(name="--source", value="users-store=my users"),))
        broken = finding("SRF001", Severity.BROKEN, repairable=True)
        said = " ".join(upon_findings(NOTHING_KNOWN, [broken], given=given))
        assert "`srfix plan --source 'users-store=my users' --application shop -o plan.json`, read the plan" in said
        assert "`srfix apply plan.json`, `srfix verify plan.json`." in said

    def test_no_wipe_is_advised_where_a_restore_could_not_be_read(self) -> None:
        mirror = finding("SRF004", Severity.BREAKS_ON_UPGRADE, repairable=True)
        said = list(upon_findings(NOTHING_KNOWN, [mirror, finding("SRF017", Severity.BROKEN)]))
        assert "wiping it is no way out here" in said[0]
        assert said[-1].startswith("Neither a restart nor wiping the state directory mends what else was found")


class TestUponVerification:
    def test_when_all_holds_restart_and_prevention_are_told(self) -> None:
        said = list(upon_verification(running(NOTHING_KNOWN, 0), Verified.HOLDS))
        assert said[0].startswith("After: the group of shop has no members now (Empty)")
        assert said[-1].startswith("To prevent the next one: ")

    def test_what_was_not_seen_is_not_relied_on(self) -> None:
        (said,) = upon_verification(NOTHING_KNOWN, Verified.NOT_SEEN)
        assert said.startswith("Do not rely on it yet")
        assert "leave out --deadline and --max-records, and run srfix verify again" in said

    def test_rows_that_look_ups_miss_can_be_read_and_are_not_to_be_doubled(self) -> None:
        said = list(upon_verification(NOTHING_KNOWN, Verified.KEYS_MISS))
        assert said[0].startswith("What is down in shop can read its rows again, but its look-ups by key miss them")
        assert said[-1].startswith("To prevent the next one: ")

    def test_a_problem_forbids_the_restart(self) -> None:
        said = list(upon_verification(NOTHING_KNOWN, Verified.PROBLEMS))
        assert said[0].startswith("Before: stop clean-up jobs")
        assert said[-1].startswith("Do not restart what is down yet: its threads would die again")
        assert not any(line.startswith("After:") for line in said)
