"""Analyses plain text: sentences, tokens and language."""
