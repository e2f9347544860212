"""The steps, each with the way back."""
