"""Connect's schemas as values, and the rules by which they feed ksqlDB's columns."""
