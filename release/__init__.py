"""Builds what is released: the wheel of the large networks, the file that names the commit, and the SBOM."""
