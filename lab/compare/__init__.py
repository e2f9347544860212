"""Compares Bookbound with other frameworks, and measures how its cost grows."""
