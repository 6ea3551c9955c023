"""`format("srfix")`: reads and writes topics with a schema registry, without a jar.

Use it where the jars of Spark's Kafka source are not available, and for captured topics. Spark finds it by the module
`pyspark_srfix`; you need not register it. The driver and the workers need srfix with confluent-kafka. Where the jars are
available, `srfix.serde.spark.read_topic` is faster.

    users = (spark.read.format("srfix")
        .option("bootstrap.servers", "broker:9092").option("topic", "users").option("registry", "http://registry:8081")
        .option("columns", "ID BIGINT, NAME STRING").option("metadata", "partition, offset").load())

A frame has the rows' columns, then `_srfix_reason STRING`: null for a good row, otherwise `TOMBSTONE` or the reason why
the row could not be read (`srfix.serde.Reason`). With `on.error=quarantine` it also has `_srfix_message` and
`_srfix_payload`. Then come the record's own columns that `metadata` names. `.schema(…)` chooses and orders all
these columns. The rows' columns in it replace the option `columns`. Spark does not tell a Python source which columns a
query selects, so name in `.schema(…)` the columns that you need; srfix then decodes only these.

With `format=raw` nothing is decoded: the frame is that of Spark's Kafka source, column by column and value by value.

| option | meaning | default |
|---|---|---|
| `bootstrap.servers` | the cluster; also `kafka.bootstrap.servers` | |
| `topic` | the topic; for files, the topic to read from them | |
| `subscribe` | the topic, as in Spark's Kafka source; or several topics: `users,orders` | |
| `subscribePattern` | a regular expression: all topics whose whole name it matches | |
| `assign` | the topics and the partitions to read: `{"users": [0, 2]}` | all partitions |
| `registry` | the registry's URLs; also `registry.url`, `schema.registry.url` | |
| `columns` | the rows' columns, as text in ksqlDB's or Spark's notation | `.schema(…)`, or the newest schema's |
| `format` | `avro`, `json_sr`, `protobuf`, `json`, `delimited`, `protobuf_nosr`, `raw` | `avro` |
| `delimiter` | delimited: the separator between fields: a character, `SPACE` or `TAB` | `,` |
| `role` | what is decoded: `value` or `key` | `value` |
| `case.rule` | `unique`, `exact`, `ksqldb`, `ksqldb-2020` | `unique` |
| `wrap` | whether a single column is wrapped in a record | as in ksqlDB |
| `policy` | which schema ids are accepted: `by-id`, `one-subject`, `dual-subject` | `by-id` |
| `subject` | the subject to ask with one-subject, and the subject to write under | the topic's subject |
| `subject.first` | for dual-subject: asked first | |
| `subject.second` | for dual-subject: asked if the first subject does not have the schema | |
| `reader.schema` | an Avro schema whose aliases, defaults and promotions count | none |
| `missing.columns` | a column that no version feeds: `error` when planning, or `null` | `error` |
| `times` | a DATE, TIME or TIMESTAMP: `datetimes`, or the `integers` in the record; written also `micros` | `datetimes` |
| `strict` | whether a row with any unfed column is bad | `false` |
| `on.error` | a row that cannot be read: `fail`, `quarantine`, `null` | `fail` |
| `tombstones` | read: `keep`, `drop`; written: `refuse`, `write` | `keep`, `refuse` |
| `metadata` | `all`, `none`, or some of `key, value, topic, partition, offset, timestamp, timestampType, headers` | none |
| `metadata.prefix` | a prefix for the names of these columns, if a row has columns with the same names | |
| `includeHeaders` | raw: whether there is a column `headers` | `false` |
| `startingOffsets` | `earliest`, `latest`, or JSON as in Spark's Kafka source | `earliest`, as in `read_stream` |
| `endingOffsets` | for a batch: `latest`, or JSON as in Spark's Kafka source | `latest` |
| `failOnDataLoss` | whether it is an error if records are gone before they are read | `true` |
| `minPartitions` | the least number of tasks | 1 for each partition |
| `maxRecordsPerPartition` | no task reads a longer range of offsets | |
| `maxOffsetsPerTrigger` | no micro-batch reads more offsets (PySpark 4.2 and newer) | |
| `maxRecordsPerBatch` | records of an Arrow batch | 10000 |
| `kafkaConsumer.pollTimeoutMs` | a read fails after this time without a record | 120000 |
| `path` | the files of a captured topic, to read in place of a topic | |
| `register` | whether a writer registers its schema; if not, the schema must already be registered | `true` |
| `checkpointLocation` | Spark's own option for streams | |

In SQL: ``CREATE TEMPORARY VIEW users USING srfix OPTIONS (subscribe 'users', `bootstrap.servers` 'broker:9092',
`schema.registry.url` 'http://registry:8081')``. If no columns are named, the view has the columns of the schema that is the
newest when the view is made, in the schema's own letter case. Fields that no column of Spark can hold are left out (`NEWEST`).

`kafka.…` are properties of Kafka's client, with librdkafka's names, or Java's names with the same meaning. `registry.…`
and `schema.registry.…` are properties of Confluent's registry client (`schema.registry.basic.auth.user.info`). A secret
may be `env:NAME` or `file:PATH`, which each process reads for itself. A registry's secret must be one of these, because
it is sent to the workers.

**Several topics** make one frame with one set of columns; the option `metadata=topic` says which topic a row is from.
Each topic is read with a plan for its own subjects, and must feed all columns, unless `missing.columns=null` is set. If
no columns are named, the newest schemas of the topics must have the same columns. Letter case distinguishes topics.
`startingOffsets` in JSON must name every topic; `minPartitions` is shared among them. A stream ends when a new topic
matches its pattern, because the stream has no plan for that topic. Start the stream again, and it reads all records of
the new topic.

**The newest schema's** aliases and defaults are used if no columns are named, as with `NEWEST`: a field that was
renamed is found in older records. The columns' metadata (`srfix.newest`) records which schema that was, so that a query
uses one schema. Columns that you name, in the option or in `.schema(…)`, are matched only by name; `reader.schema` gives
another schema whose aliases and defaults count.

**Reading.** Each partition, or part of it, is a task with its own consumer, which joins no group and commits nothing. A
read ends at the offset that was the topic's end when the read was planned. It ends by position, so it does not wait for
transaction markers or compacted records. The isolation level is `read_committed`, unless `kafka.isolation.level` says
otherwise (Spark's Kafka source has Kafka's own default, `read_uncommitted`).

**Streams.** A checkpoint keeps the next offset of each partition and the topic's id. So a topic that was deleted and
created again is an error, not a silent gap. Partitions that appear later are read from their beginning. If a schema is
registered while the stream runs, srfix fetches it when a record with this schema comes. `trigger(availableNow=True)`
stops at the records that were there at its start (before PySpark 4.2 in one micro-batch). Nothing depends on `commit`,
which Spark does not call for the last batch.

**Captured topics.** Parquet files with the columns of Spark's Kafka source, as `df.write.parquet(path)` writes such a
frame: a file or a folder, here or on a file system that pyarrow knows. The column that is decoded must be there;
`partition`, `offset` and `headers` are used if they are there. Files are read once; a stream of files is
`spark.readStream.parquet(…)` and `srfix.serde.spark.from_registry`.

**Writing** needs `.mode("append")`: Spark's default mode raises UNSUPPORTED_DATA_SOURCE_SAVE_MODE before this source is
asked. All columns of the frame make a row, with unchanged names, except those that `metadata` names as the record's own
(`key`, `partition`, `timestamp`, `headers`), and the columns of reasons. The schema is registered before any task
starts. A record is written **at least once**: if a task or a micro-batch fails, it runs again and writes its records
again. All replicas acknowledge a record; the partitioner is Java's. A row whose `_srfix_reason` is TOMBSTONE, or whose
`_srfix_tombstone` is true (`from_registry` sets it), would delete its key, so it is refused unless `tombstones=write`.
Nothing else deletes keys: a row that could not be read is refused, and so is a row of nulls in a frame without either
column.
"""
