"""Are the live ids of a topic readable by a reader, without any Kafka Streams application?"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from srfix.recovery.topic_check.answers import AskedId, RoleAnswer, TopicCheck, TopicFinding, Trouble
    from srfix.recovery.topic_check.document import check_document
    from srfix.recovery.topic_check.examine import check_topic
    from srfix.recovery.topic_check.facts import TopicFacts
    from srfix.recovery.topic_check.judging import unreadable
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
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "answers": ["AskedId", "RoleAnswer", "TopicCheck", "TopicFinding", "Trouble"],
            "document": ["check_document"],
            "examine": ["check_topic"],
            "facts": ["TopicFacts"],
            "judging": ["unreadable"],
            "lives": ["Lives", "Positions", "Standing", "only_ids"],
            "origin": ["Origin", "Told"],
            "question": ["Strategy", "TopicQuestion", "TopicRead", "TopicReader", "read_document", "read_from"],
        },
    )
