"""One information structure, its coordinates, and what the agents report. Without it there is nothing to aggregate."""
