"""`format("srfix")`: topics read and written by way of a schema registry, without a jar.

Use it where the jars of Spark's Kafka source are not available, and for captured topics. Spark finds it by the module
`pyspark_srfix`; nothing is registered. The driver and the workers need srfix with confluent-kafka. Where the jars are
available, `srfix.serde.spark.read_topic` is faster.

    users = (spark.read.format("srfix")
        .option("bootstrap.servers", "broker:9092").option("topic", "users").option("registry", "http://registry:8081")
        .option("columns", "ID BIGINT, NAME STRING").option("metadata", "partition, offset").load())

A frame has the rows' columns, then `_srfix_reason STRING`: null where there is a row, `TOMBSTONE` or why a row could not be
read otherwise (`srfix.serde.Reason`); with `on.error=quarantine` also `_srfix_message` and `_srfix_payload`; then
the record's own columns that `metadata` names. `.schema(…)` says which of them are read, in which order: it prunes columns,
and its rows' columns replace the option `columns`. Spark does not tell a Python source which columns a query selects, so name
the columns in `.schema(…)` to decode no others.

With `format=raw` nothing is decoded: the frame is that of Spark's Kafka source, column by column and value by value.

| option | meaning | default |
|---|---|---|
| `bootstrap.servers` | the cluster; also `kafka.bootstrap.servers` | |
| `topic` | the topic; of files, which of their topics | |
| `subscribe` | the same, as Spark's Kafka source calls it; or several: `users,orders` | |
| `subscribePattern` | a regular expression: all topics whose whole name it matches | |
| `assign` | the topics and the partitions that are read: `{"users": [0, 2]}` | all of them |
| `registry` | the registry's URLs; also `registry.url`, `schema.registry.url` | |
| `columns` | the rows' columns, as SQL text, ksqlDB's or Spark's | `.schema(…)`, or the newest schema's |
| `format` | `avro`, `json`, `json_sr`, `delimited`, `raw` | `avro` |
| `delimiter` | delimited: what stands between fields: a character, `SPACE` or `TAB` | `,` |
| `role` | what is decoded: `value` or `key` | `value` |
| `case.rule` | `unique`, `exact`, `ksqldb`, `ksqldb-2020` | `unique` |
| `wrap` | whether a single column stands in a record | as ksqlDB |
| `policy` | which schema ids are accepted: `by-id`, `one-subject`, `dual-subject` | `by-id` |
| `subject` | for one-subject, and to write under | the topic's |
| `subject.first` | for dual-subject | |
| `subject.second` | for dual-subject: asked where the first does not have the schema | |
| `reader.schema` | an Avro schema whose aliases, defaults and promotions count | none |
| `missing.columns` | a column that no version feeds: `error` when planning, or `null` | `error` |
| `times` | a DATE, TIME or TIMESTAMP: `datetimes`, or `integers`, as they stand in the record | `datetimes` |
| `strict` | whether a row of which any column is not fed is bad | `false` |
| `on.error` | a row that cannot be read: `fail`, `quarantine`, `null` | `fail` |
| `tombstones` | read: `keep`, `drop`; written: `refuse`, `write` | `keep`, `refuse` |
| `metadata` | `all`, `none`, or some of `key, value, topic, partition, offset, timestamp, timestampType, headers` | none |
| `metadata.prefix` | before their names, where a row has columns of those names | |
| `includeHeaders` | raw: whether there is a column `headers` | `false` |
| `startingOffsets` | `earliest`, `latest`, or JSON as Spark's Kafka source has it | `earliest`, as `read_stream` |
| `endingOffsets` | the same, for a batch | `latest` |
| `failOnDataLoss` | whether records that are gone before they are read are an error | `true` |
| `minPartitions` | at least as many tasks | 1 for each partition |
| `maxRecordsPerPartition` | no task reads a longer range of offsets | |
| `maxOffsetsPerTrigger` | no micro-batch reads more offsets (PySpark 4.2 and newer) | |
| `maxRecordsPerBatch` | records of an Arrow batch | 10000 |
| `kafkaConsumer.pollTimeoutMs` | how long no record may come before a read fails | 120000 |
| `path` | a captured topic instead of a topic | |
| `register` | whether a writer registers its schema, or it must be there | `true` |
| `checkpointLocation` | Spark's own | |

In SQL: ``CREATE TEMPORARY VIEW users USING srfix OPTIONS (subscribe 'users', `bootstrap.servers` 'broker:9092',
`schema.registry.url` 'http://registry:8081')``. If no columns are named, they are those of the newest schema when the view is
made, in its own letter case. Fields that no column of Spark can hold are left out (`NEWEST`).

`kafka.…` are properties of Kafka's client, librdkafka's names and Java's where they mean the same; `registry.…` and
`schema.registry.…` those of Confluent's registry client (`schema.registry.basic.auth.user.info`). A secret may be `env:NAME`
or `file:PATH`, which each process reads for itself; a registry's must be, since it goes to the workers.

**Several topics** make one frame with one set of columns; the option `metadata=topic` says which topic a row is from.
Each topic is read by a plan of its own subjects, and must feed all columns, unless `missing.columns=null`. If no
columns are named, the newest schemas of the topics must have the same columns. Letter case tells topics apart.
`startingOffsets` in JSON must name every topic; `minPartitions` is shared among them. A stream ends when a new topic
matches its pattern, because it has no plan for that topic. Start it again, and it reads the topic from its beginning.

**The newest schema's** aliases and defaults are used if no columns are named, as with `NEWEST`: a field that was
renamed is found in older records. The columns' metadata (`srfix.newest`) keeps which schema that was, so that a query
uses one. Named columns, by the option or by `.schema(…)`, are matched by name alone; `reader.schema` names another
schema whose aliases and defaults count.

**Reading.** Each partition, or part of it, is a task with a consumer of its own, which joins no group and commits nothing. A
read ends at the offset that was the topic's end when it was planned, by position: markers of transactions and compacted
records are not waited for. The isolation level is `read_committed`, unless `kafka.isolation.level` says otherwise (Spark's
Kafka source has Kafka's own default, `read_uncommitted`).

**Streams.** A checkpoint keeps the next offset of each partition and the topic's id. So a topic that was deleted and
created again is an error, not a silent gap. Partitions that appear later are read from their beginning. A schema that
is registered while the stream runs is fetched when a record with it comes. `trigger(availableNow=True)` stops at what
there was (before PySpark 4.2 in one micro-batch). Nothing depends on `commit`, which Spark does not call for the last
batch.

**Captured topics.** Parquet files with the columns of Spark's Kafka source, as `df.write.parquet(path)` writes such a
frame: a file or a folder, here or on a file system that pyarrow knows. The column that is decoded must be there;
`partition`, `offset` and `headers` are used if they are there. Files are read once; a stream of files is
`spark.readStream.parquet(…)` and `srfix.serde.spark.from_registry`.

**Writing** needs `.mode("append")`: Spark's default mode raises UNSUPPORTED_DATA_SOURCE_SAVE_MODE before this source is
asked. All columns of the frame make a row, under their names as they stand, but those that `metadata` says are the
record's own (`key`, `partition`, `timestamp`, `headers`), and the columns of reasons. The schema is registered before
any task starts. A record is written **at least once**: a task or a micro-batch that fails is run again, and writes its
records again. All replicas acknowledge a record; the partitioner is Java's. A row whose `_srfix_reason` is TOMBSTONE,
or whose `_srfix_tombstone` is true (`from_registry` sets it), would delete its key: it is refused unless
`tombstones=write`. Nothing else deletes: a row that could not be read is refused, and so is one of nulls in a frame
that has neither column.
"""
