"""Answers with a language model."""
