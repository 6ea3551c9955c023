"""The options that commands share, and where their values come from."""

from srfix.cli.options.connecting import config_option, connection_options
from srfix.cli.options.duration import Duration
from srfix.cli.options.engine import SPARK, CensusEngineChoice, engine_options, task_engine_options
from srfix.cli.options.evidence import EvidenceOptions, KsqldbServers, evidence_options, ksqldb_options
from srfix.cli.options.gate import Gate, gate_options, quiet_option
from srfix.cli.options.given import CONFIG_PATH, given_options
from srfix.cli.options.groups import choice_of, handing_over, option
from srfix.cli.options.options import (
    READERS,
    Hurry,
    Selection,
    changelogs_option,
    decode_values_option,
    details_option,
    expect_digest_option,
    findings_output_option,
    hurry_options,
    isolation_of,
    isolation_option,
    only_option,
    output_option,
    plan_selection_options,
    selection_options,
    yes_option,
)
from srfix.cli.options.topic import TopicChoice, topic_isolation_option, topic_options, topic_reader_option
