"""The metrics for Prometheus: the numbers, their families, the file for cron, and the server of `srfix watch`."""
