"""What Prometheus is told: the numbers, their families, the file for cron and the server for a watch."""
