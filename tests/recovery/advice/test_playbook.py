"""What to do around a repair: every sentence follows from what is known of the application, and what is not is said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from msgspec import structs

from srfix.recovery import Finding, Reader, Severity, StreamsVersion
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
from srfix.recovery.commands import CommandLine, GivenOption
from srfix.recovery.diagnosis.examination import upon_findings
from srfix.recovery.facts.reader import Circumstances, KnownStore
from srfix.recovery.findings import Evidence, IdAtFault, Source, Weight
from srfix.serde import Role, Subject, Topic
from srfix.serde.wire import SchemaId

USERS = KnownStore(name="users-store", topic=Topic("users"))
GLOBAL = structs.replace(USERS, is_global=True)
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

    @pytest.mark.parametrize(
        ("known", "when", "says", "advises"),
        [
            (running(on(NOTHING_KNOWN, None, "2.6"), 2), "now", "has 2 members now (Stable)", "without a restart"),
            (
                running(on(NOTHING_KNOWN, "2.6", "2.6"), 0),
                "then",
                "has no members then (Empty)",
                "Start the application",
            ),
            (
                replace(NOTHING_KNOWN, problem="may not ask"),
                "now",
                "whether shop runs: may not ask",
                "Restart the instances",
            ),
        ],
    )
    def test_what_is_up_reads_at_once_and_what_is_down_is_to_be_started(
        self, known: Circumstances, when: str, says: str, advises: str
    ) -> None:
        said = self.words(known, when)
        assert says in said
        assert advises in said

    @pytest.mark.parametrize(
        ("oldest", "newest", "says"),
        [
            (None, "2.6", "Kafka Streams up to 2.6 does not replace a thread"),
            ("2.4", "2.7", "Kafka Streams 2.4 to 2.7 does not replace"),
            ("2.8", None, "Kafka Streams 2.8 or later replaces a thread that died only if"),
            ("2.4", "3.2", "does not know which version runs, seen: 2.4 to 3.2)"),
            (None, None, "(srfix does not know which version runs)"),
        ],
    )
    def test_threads_are_replaced_from_2_8_on(self, oldest: str | None, newest: str | None, says: str) -> None:
        assert says in self.words(running(on(NOTHING_KNOWN, oldest, newest), 1))

    @pytest.mark.parametrize(
        ("version", "retries"),
        [("0.10.1", False), ("0.12.0", False), ("0.13.0", True), ("0.29.0", True), ("6.0.1", False), ("7.4.0", True)],
    )
    def test_ksqldb_retries_by_itself_from_0_13_on(self, version: str, retries: bool) -> None:
        known = replace(QUERY, ksqldb_version=version)
        short, _again = afterwards_in_short([known])
        for said in (self.words(known), short):
            assert (f"ksqlDB {version} retries" in said) is retries
            assert (f"ksqlDB {version} never retries" in said) is not retries

    def test_a_ksqldb_that_nobody_asked_may_do_either(self) -> None:
        said = self.words(running(replace(QUERY, query_state="ERROR"), 0))
        assert "query CTAS_T_7 (ERROR) has no members now (Empty)" in said
        assert "ksqlDB 0.13 and later (in Confluent Platform from 6.1 on)" in said
        assert "--ksqldb URL" in said

    def test_standbys_hold_the_source_and_a_global_store_has_none(self) -> None:
        for store, says in (
            (USERS, "bytes of topic users unchanged"),
            (GLOBAL, "full copy of the global store users-store"),
        ):
            lines = after_repair(replace(NOTHING_KNOWN, stores=(store,)), when="now")
            (said,) = [line for line in lines if "standbys" in line]
            assert says in said


class TestBefore:
    @pytest.mark.parametrize(
        ("oldest", "newest", "says"),
        [
            (None, "2.6", "Do not wipe the state: on Kafka Streams up to 2.6"),
            ("2.7", None, "This repair needs no wipe of the state"),
            ("2.4", "3.2", "does not know which version runs (seen: 2.4 to 3.2)"),
            (None, None, "Do not wipe the state: on Kafka Streams 2.6.3 and earlier"),
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
        assert any("if you keep its state" in line for line in before_repair(known)) is warned

    def test_terminate_and_drop_are_ksqldbs(self) -> None:
        assert any("do not TERMINATE query CTAS_T_7, and do not DROP" in line for line in before_repair(QUERY))
        assert not any("TERMINATE" in line for line in before_repair(NOTHING_KNOWN))


class TestPrevention:
    @pytest.mark.parametrize(
        ("known", "says"),
        [
            (on(NOTHING_KNOWN, None, "2.6"), "srfix diagnose after every new schema of topic users"),
            *(
                (on(NOTHING_KNOWN, None, "2.6"), each)
                for each in ("fill a changelog of the store's own", "SRF004", "SRF016", "SRF017")
            ),
            (replace(NOTHING_KNOWN, stores=(GLOBAL,)), "upgrade to Kafka Streams 2.7"),
            (on(NOTHING_KNOWN, "3.3", None), "Kafka Streams 3.3 or later asks the source's own subject"),
            (replace(NOTHING_KNOWN, reader=Reader.PLAIN), "a plain reader does not need the phantom subject's"),
            (replace(NOTHING_KNOWN, reader=Reader.DUAL), "a dual reader does not need the phantom subject's"),
            (
                QUERY,
                "upgrade to ksqlDB 0.11 or later, in Confluent Platform from 6.1 on (srfix does not know which version runs)",
            ),
            (
                replace(QUERY, ksqldb_version="0.10.2"),
                "upgrade to ksqlDB 0.11 or later, in Confluent Platform from 6.1 on:",
            ),
            (replace(QUERY, ksqldb_version="0.11.0"), "ksqlDB 0.11.0 itself asks the source's subject"),
        ],
    )
    def test_it_depends_on_what_runs(self, known: Circumstances, says: str) -> None:
        (said,) = prevention(known)
        assert says in said
        assert ("fill a changelog of the store's own" in said) is (known == on(NOTHING_KNOWN, None, "2.6"))
        assert "Kafka Streams 2.7" not in said or known.query is None

    def test_an_upgrade_is_not_advised_while_it_would_fail(self) -> None:
        rules = srf017.CHECK.advice.rules
        assert rules is not None
        (said,) = prevention(NOTHING_KNOWN, rules.upgrade)
        assert "but repair SRF017 first, because" in said


WHOLE_WAY = ["Before:", "Before:", "Repair:", "After:", "After:", "To"]
"""How the lines of a playbook begin."""


def beginnings(lines: Iterable[str]) -> list[str]:
    return [line.split()[0] for line in lines]


class TestPlaybook:
    def test_one_application_is_not_named_before_each_line(self) -> None:
        assert list(playbook([])) == []
        assert beginnings(playbook([NOTHING_KNOWN])) == WHOLE_WAY

    def test_several_with_different_facts_are_told_apart(self) -> None:
        lines = list(playbook([running(on(NOTHING_KNOWN, "2.6", "2.6"), 3), running(QUERY, 0)]))
        assert beginnings(lines).count("Repair:") == 1
        of_shop = [line for line in lines if line.startswith("shop: ")]
        of_query = [line for line in lines if line.startswith(f"{QUERY.application}: ")]
        assert len(of_shop) + len(of_query) + 1 == len(lines)
        assert any("has 3 members when the repair was planned" in line for line in of_shop)
        assert any("has no members when the repair was planned" in line for line in of_query)
        assert any("TERMINATE" in line for line in of_query)
        assert not any("TERMINATE" in line for line in of_shop)

    def test_what_is_left_after_the_repair_is_its_end(self) -> None:
        lines = list(playbook([NOTHING_KNOWN, QUERY]))
        assert lines[beginnings(lines).index("Repair:") + 1 :] == list(afterwards([NOTHING_KNOWN, QUERY]))


EVERYTHING = {"wipe", "restart", "upgrade", "TERMINATE or DROP"}


class TestInShort:
    """The same in a sentence or two, each said once for all applications of which it is true."""

    def test_nothing_to_repair_is_nothing_to_do(self) -> None:
        assert until_repaired([]) is None
        assert (list(afterwards_in_short([])), list(upon_verification_in_short([], CommandLine()))) == ([], [])

    @pytest.mark.parametrize(
        ("known", "forbidden"),
        [([on(NOTHING_KNOWN, "2.6", "2.6"), QUERY], EVERYTHING), ([on(NOTHING_KNOWN, "2.8", "2.8")], {"restart"})],
    )
    def test_what_not_to_do_until_it_is_done(self, known: list[Circumstances], forbidden: set[str]) -> None:
        said = until_repaired(known)
        assert said is not None
        assert {word for word in EVERYTHING if word in said.partition("Until the repair is done: ")[2]} == forbidden

    @pytest.mark.parametrize(
        ("known", "says"),
        [
            (NOTHING_KNOWN, "Restart the instances whose stream thread died"),
            (running(NOTHING_KNOWN, 0), "has no members when the repair was planned. Start the application"),
            (QUERY, "ksqlDB 0.13 and later (in Confluent Platform from 6.1 on) retry"),
        ],
    )
    def test_afterwards_it_says_what_the_evidence_does(self, known: Circumstances, says: str) -> None:
        restart, again = afterwards_in_short([known])
        assert says in restart
        assert "srfix diagnose after every new schema of topic users" in again

    def test_one_sentence_for_all_of_which_it_is_true(self) -> None:
        till = replace(NOTHING_KNOWN, application="till")
        together, _again = afterwards_in_short([NOTHING_KNOWN, till])
        assert not together.startswith("shop")
        of_two, of_query, _again = afterwards_in_short([NOTHING_KNOWN, till, QUERY])
        assert of_two.startswith("shop, till: ")
        assert of_query.startswith(f"{QUERY.application}: ")

    @pytest.mark.parametrize("known", [on(NOTHING_KNOWN, "3.0", "3.0"), replace(NOTHING_KNOWN, reader=Reader.DUAL)])
    def test_where_the_next_schema_breaks_nothing_no_look_is_asked_for(self, known: Circumstances) -> None:
        assert len(list(afterwards_in_short([known]))) == 1

    def test_upon_verification_the_worst_stands_first(self) -> None:
        broken, unseen, keys, fine = (replace(NOTHING_KNOWN, application=name) for name in ("a", "b", "c", "d"))
        seen = {Verified.HOLDS: fine, Verified.KEYS_MISS: keys, Verified.NOT_SEEN: unseen, Verified.PROBLEMS: broken}
        said = list(upon_verification_in_short([(known, outcome) for outcome, known in seen.items()], CommandLine()))
        order = ["Do not wipe", "Do not rely", "Instances of c", "Running instances can", "Run srfix diagnose"]
        assert [" ".join(line.split()[:3]) for line in said] == order
        assert "`srfix plan --application a -o new-plan.json`" in said[0]
        (said_of_two,) = upon_verification_in_short(
            [(fine, Verified.PROBLEMS), (broken, Verified.PROBLEMS)], CommandLine()
        )
        assert "`srfix plan -o new-plan.json`" in said_of_two


BROKEN = finding("SRF001", Severity.BROKEN, repairable=True)
MIRROR = finding("SRF004", Severity.BREAKS_ON_UPGRADE, repairable=True)


@pytest.mark.core
class TestUponFindings:
    def test_the_incident_takes_the_whole_way_and_the_commands_repeat_what_was_given(self) -> None:
        given = CommandLine(options=(GivenOption(name="--source", value="users-store=my users"),))
        said = list(upon_findings(NOTHING_KNOWN, [BROKEN], given))
        assert beginnings(said) == WHOLE_WAY
        assert "`srfix plan --source 'users-store=my users' --application shop -o plan.json`" in said[2]
        assert "`srfix apply plan.json`, `srfix verify plan.json`" in said[2]

    def test_an_undecided_source_is_asked_for_before_any_repair(self) -> None:
        said = list(upon_findings(NOTHING_KNOWN, [finding("SRF001", Severity.BROKEN)], CommandLine()))
        assert any("--source shop/users-store=TOPIC" in line for line in said)
        assert "Repair:" not in beginnings(said)

    @pytest.mark.parametrize(
        ("known", "found", "says"),
        [
            (NOTHING_KNOWN, finding("SRF003", Severity.NOTE), "no repair or restart"),
            # A partial census is never called unbroken.
            (NOTHING_KNOWN, finding("SRF003", Severity.NOTE, is_partial=True), "the topic was not read to its end"),
            (on(NOTHING_KNOWN, "3.3", None), finding("SRF001", Severity.NOTE, repairable=True), "3.3 or later asks"),
            (NOTHING_KNOWN, finding("SRF011", Severity.BROKEN), "Neither a restart nor wiping the state directory"),
        ],
    )
    def test_where_nothing_is_to_be_repaired_the_reason_is_said(
        self, known: Circumstances, found: Finding, says: str
    ) -> None:
        said = list(upon_findings(known, [found], CommandLine()))
        assert says in said[0]
        assert "Repair:" not in beginnings(said)

    @pytest.mark.parametrize(
        ("found", "may_wipe", "says"),
        [
            ([proven(MIRROR)], True, "Or, when every instance runs 2.7 or later, wipe the state instead"),
            ([proven(MIRROR, weight=Weight.STRONG)], False, "Do not wipe it until conclusive evidence shows"),
            ([proven(MIRROR, weight=Weight.WEAK)], False, "Do not wipe it until conclusive evidence shows"),
            ([proven(MIRROR), finding("SRF018", Severity.SILENT)], False, "that retention deleted (SRF018)"),
            ([MIRROR, finding("SRF017", Severity.BROKEN)], False, "Wiping the state does not help here"),
        ],
    )
    def test_the_upgrade_mirror_allows_a_wipe_only_where_a_restore_is_sure_to_bring_all_back(
        self, found: list[Finding], may_wipe: bool, says: str
    ) -> None:
        said = list(upon_findings(NOTHING_KNOWN, found, CommandLine()))
        assert "older than the upgrade of shop" in said[0]
        assert says in said[0]
        assert ("wipe the state instead" in " ".join(said)) is may_wipe


class TestUponVerification:
    @pytest.mark.parametrize(
        ("outcome", "first", "last"),
        [
            (Verified.HOLDS, "has no members now (Empty)", "To prevent the next incident"),
            (Verified.NOT_SEEN, "leave out --deadline and --max-records", "run srfix verify again"),
            (Verified.KEYS_MISS, "look-ups by key miss these rows", "To prevent the next incident"),
            (Verified.PROBLEMS, "Before: stop clean-up jobs", "Do not yet restart any instance that is down"),
        ],
    )
    def test_what_comes_first_and_last(self, outcome: Verified, first: str, last: str) -> None:
        said = list(upon_verification(running(NOTHING_KNOWN, 0), outcome, CommandLine()))
        assert first in said[0]
        assert last in said[-1]
        assert outcome is not Verified.PROBLEMS or "After:" not in beginnings(said)
