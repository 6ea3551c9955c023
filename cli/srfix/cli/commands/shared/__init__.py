"""What several commands do alike."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from srfix.cli.commands.shared.advice import advice_blocks, ignored_line, secrets_to_add
    from srfix.cli.commands.shared.check_report import check_blocks
    from srfix.cli.commands.shared.diagnosis_details import MOST_SOURCES, diagnosis_in_detail
    from srfix.cli.commands.shared.diagnosis_short import diagnosis_in_short, foreseen
    from srfix.cli.commands.shared.diagnosis_words import verdict_of
    from srfix.cli.commands.shared.guard_words import forecast_blocks, forecast_summary
    from srfix.cli.commands.shared.half import (
        InternalSchemaChoice,
        RecordHalf,
        case_rule_option,
        half_options,
        schema_options,
        schema_text,
        times_option,
    )
    from srfix.cli.commands.shared.judging import Judged, judge, judge_diagnosis, of_store, of_topic, write_unless_quiet
    from srfix.cli.commands.shared.payloads import not_decoded, payload_bytes, write_decoded
    from srfix.cli.commands.shared.plan_report import plan_report
    from srfix.cli.commands.shared.plan_target import complain, connection_of_plan
    from srfix.cli.commands.shared.policy import BY_ID, DUAL_SUBJECT, ONE_SUBJECT, PolicyChoice
    from srfix.cli.commands.shared.prompt import before_apply
    from srfix.cli.commands.shared.reading import DecodeOptions, NoRegistry
    from srfix.cli.commands.shared.rollback_steps import StepTold, steps_told
    from srfix.cli.commands.shared.session import ClusterSession, open_cluster, open_session, patience_s, show_progress
    from srfix.cli.commands.shared.spark_session import SessionOfCommand
    from srfix.cli.commands.shared.steps_on_the_way import StepsOnTheWay
    from srfix.cli.commands.shared.story import Story
    from srfix.cli.commands.shared.topic_plans import apply_to_topic, roll_back_topic
    from srfix.cli.commands.shared.topic_verification import verify_topic
    from srfix.cli.commands.shared.verification_report import (
        looked_at,
        verification_blocks,
        verification_code,
        verification_document,
        verification_totals,
        verification_verdict,
    )
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "advice": ["advice_blocks", "ignored_line", "secrets_to_add"],
            "check_report": ["check_blocks"],
            "diagnosis_details": ["MOST_SOURCES", "diagnosis_in_detail"],
            "diagnosis_short": ["diagnosis_in_short", "foreseen"],
            "diagnosis_words": ["verdict_of"],
            "guard_words": ["forecast_blocks", "forecast_summary"],
            "half": [
                "InternalSchemaChoice",
                "RecordHalf",
                "case_rule_option",
                "half_options",
                "schema_options",
                "schema_text",
                "times_option",
            ],
            "judging": ["Judged", "judge", "judge_diagnosis", "of_store", "of_topic", "write_unless_quiet"],
            "payloads": ["not_decoded", "payload_bytes", "write_decoded"],
            "plan_report": ["plan_report"],
            "plan_target": ["complain", "connection_of_plan"],
            "policy": ["BY_ID", "DUAL_SUBJECT", "ONE_SUBJECT", "PolicyChoice"],
            "prompt": ["before_apply"],
            "reading": ["DecodeOptions", "NoRegistry"],
            "rollback_steps": ["StepTold", "steps_told"],
            "session": ["ClusterSession", "open_cluster", "open_session", "patience_s", "show_progress"],
            "spark_session": ["SessionOfCommand"],
            "steps_on_the_way": ["StepsOnTheWay"],
            "story": ["Story"],
            "topic_plans": ["apply_to_topic", "roll_back_topic"],
            "topic_verification": ["verify_topic"],
            "verification_report": [
                "looked_at",
                "verification_blocks",
                "verification_code",
                "verification_document",
                "verification_totals",
                "verification_verdict",
            ],
        },
    )
