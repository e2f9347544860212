"""Turns a question into an answer or a refusal: retrieve, read, decide, write, verify."""
