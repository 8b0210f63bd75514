"""The makers of certificates: they search in fast floats for witnesses that the verifier then checks."""
