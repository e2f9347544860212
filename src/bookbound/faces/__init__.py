"""What the outside sees: one published shape per file."""
