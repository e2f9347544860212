"""Trains the networks, and fits the constants that turn their logits into probabilities."""
