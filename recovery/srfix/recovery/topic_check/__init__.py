"""Are the live ids of a topic readable by a reader, without any Kafka Streams application?"""

from srfix.recovery.topic_check.answers import AskedId, RoleAnswer, TopicCheck, TopicFinding, Trouble
from srfix.recovery.topic_check.document import check_document
from srfix.recovery.topic_check.examine import check_topic
from srfix.recovery.topic_check.facts import TopicFacts
from srfix.recovery.topic_check.lives import Lives, Positions, Standing, only_ids
from srfix.recovery.topic_check.origin import Origin, Told
from srfix.recovery.topic_check.question import (
    Strategy,
    TopicQuestion,
    TopicRead,
    TopicReader,
    read_document,
    read_from,
)
