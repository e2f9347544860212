"""Many readers at once for minutes, with and without what they rest on being killed: what goes wrong is found."""
