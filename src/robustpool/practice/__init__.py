"""What the command line and the web do with a table alike, between the options that a user gives and one call of the library."""
