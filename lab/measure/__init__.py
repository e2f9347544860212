"""Question sets, and the evaluation of Bookbound on them."""
