"""Where chunks and their vectors live: written in secret, published in one step, read by many."""
