"""What Spark and Kafka's client said, as errors of srfix."""
