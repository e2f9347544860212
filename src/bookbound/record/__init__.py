"""One row for each question: what was asked and what became of it, never an answer, a passage or a selection."""
