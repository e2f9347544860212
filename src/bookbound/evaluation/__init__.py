"""Measures answer quality on a question set and chooses the operating point."""
