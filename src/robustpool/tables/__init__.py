"""What people bring in tables: read, checked row by row, combined, and written again."""
