"""What an author learns from the log: what readers ask, what the book answers, and what they could not find."""
