"""Decides from the readings whether a question is answered."""
