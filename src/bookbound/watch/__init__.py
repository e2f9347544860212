"""What is seen of requests and questions while they are served, and who is told: log lines, metrics, spans."""
