"""The networks of Bookbound that are too large for its own wheel; `bookbound.models` finds and checks them."""
