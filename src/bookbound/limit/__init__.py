"""Counts what readers take of a limit: in this process, or together with others in Redis."""
