"""Plans that write to topics: fill a changelog from its source, expire keys by age. Apply, journal, rollback."""

from srfix.recovery.topic_plan.apply import (
    TopicAlreadyApplied,
    TopicEvent,
    TopicJournalSetAside,
    TopicStepDone,
    apply_topic_plan,
)
from srfix.recovery.topic_plan.document import (
    digest_of_plan,
    is_topic_plan,
    load_topic_plan,
    save_topic_plan,
    topic_plan_document,
)
from srfix.recovery.topic_plan.expiring import ExpiryRequest, plan_expiry
from srfix.recovery.topic_plan.hand import KafkaHand
from srfix.recovery.topic_plan.interface import Hand, Look, NewRecord
from srfix.recovery.topic_plan.journal import TopicJournalState, is_topic_journal, read_topic_journal
from srfix.recovery.topic_plan.kept_records import kept_records_path
from srfix.recovery.topic_plan.plan import ExpireKeys, SeedChangelog, TopicPlan, TopicStep, describe
from srfix.recovery.topic_plan.reports import StepReport
from srfix.recovery.topic_plan.rollback import (
    TopicAlreadyRolledBack,
    TopicStepLeft,
    TopicStepUndone,
    TopicUndoEvent,
    roll_back_topic_plan,
)
from srfix.recovery.topic_plan.seeding import Registered, SeedRequest, plan_seed
from srfix.recovery.topic_plan.verifying import Applied, TopicCheck, TopicOutcome, verify_topic_plan
