"""Runs real Qdrant nodes, breaks them, and measures what a cluster keeps and how fast it answers."""
