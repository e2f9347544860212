"""One module for each compared system, set up as its documentation recommends."""
