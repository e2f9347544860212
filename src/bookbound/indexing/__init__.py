"""Turns a book into a searchable index and keeps it up to date."""
