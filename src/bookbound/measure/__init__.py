"""How good are the answers? Question sets, what becomes of them, the figures, and the operating point they call for."""
