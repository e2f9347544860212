"""Trains Bookbound's networks, measures it, and compares it with other systems; no part of the product."""
