"""What a solver leaves: typed records, one file format, load and save."""
