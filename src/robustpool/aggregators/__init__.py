"""Functions of reports: published closed forms."""
