"""Words become vectors: one file per kind of embedder."""
