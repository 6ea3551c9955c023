"""Payloads → typed rows: the plan, its text, and frames made of it."""

from srfix.serde.spark.read.kafka_options import Offsets, Options, kafka_options, sink_options
from srfix.serde.spark.read.plan import ReadPlan
from srfix.serde.spark.read.planning import newest_columns, plan_read
from srfix.serde.spark.read.topics import (
    Assignment,
    Plans,
    TopicPlans,
    TopicsAsked,
    is_topic_of,
    plan_given,
    topic_plans,
    topics_asked,
)
