"""Connect's schemas as values, and what ksqlDB's columns take from them."""
