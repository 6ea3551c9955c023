"""Subject names: only this package knows the relation of topic, role and subject.

Strategies are picklable callables `(topic, role) -> Subject`:

| strategy | subject |
|---|---|
| `TopicSubject()` | `<topic>-key` / `<topic>-value` (TopicNameStrategy, the default everywhere) |
| `RecordSubject()` | the record's full name (RecordNameStrategy) |
| `TopicRecordSubject()` | `<topic>-<the record's full name>` (TopicRecordNameStrategy) |
| `FixedSubject(key=…, value=…)` | the same, whatever the topic |
| `ChangelogSubject(application, store)` | the subject of a changelog, also without such a topic; short name: `Changelog` |
| `TemplateSubject("{topic}-{role}")` | a text with `{topic}`, `{role}`, `{record}` |
| `MappedSubject(value=…, key=…, fallback=…)` | from a table or a function; other topics are refused, or use the fallback |
| `ApartFromTopicSubject(strategy)` | the strategy's subject; refused if it is the topic's own |

Strategies that use the record's name (`needs_record`) are called when the schema is known: by readers after the id was
resolved, by writers for their schema. `subject_of` calls any strategy; `record_name` gives the name.

Since Confluent 7.0 a subject may be in a context: `:.<context>:<name>`. The default context is `.`, and its subjects
are written without it (`io.confluent.kafka.schemaregistry.utils.QualifiedSubject`). `:*:` means every context; only
searches accept it.
"""
