"""Subject names: the one place that knows how a topic, a role and a subject hang together.

Strategies are picklable callables `(topic, role) -> Subject`:

| strategy | subject |
|---|---|
| `TopicSubject()` | `<topic>-key` / `<topic>-value` (TopicNameStrategy, the default everywhere) |
| `RecordSubject()` | the record's full name (RecordNameStrategy) |
| `TopicRecordSubject()` | `<topic>-<the record's full name>` (TopicRecordNameStrategy) |
| `FixedSubject(key=…, value=…)` | the same, whatever the topic |
| `ChangelogSubject(application, store)` | of a store's changelog, whether that exists or not; `Changelog` for short |
| `TemplateSubject("{topic}-{role}")` | a text with `{topic}`, `{role}`, `{record}` |
| `MappedSubject(value=…, key=…, fallback=…)` | by a table or a function; other topics are refused, or the fallback's |
| `ApartFromTopicSubject(strategy)` | the strategy's, refused where it is the topic's own |

Those that make it of the record's name (`needs_record`) are asked when the schema is known: by readers after the id was
resolved, by writers for the schema that is written. `subject_of` asks any strategy, `record_name` tells the name.

From Confluent 7.0 on a subject may stand in a context: `:.<context>:<name>`. The default context is `.`, and its
subjects are written without it (`io.confluent.kafka.schemaregistry.utils.QualifiedSubject`). `:*:` means every
context; only searches take it.
"""
