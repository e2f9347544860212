"""Judges whole replies, as readers see them, by rules, and renders them as one page."""
