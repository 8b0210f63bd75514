"""The verifier: re-checks a certificate from the file alone, with nothing of the code that made it."""
