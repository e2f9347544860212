"""Answers in the book's own words."""
