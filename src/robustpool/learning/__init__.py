"""Pools that learn from a track record. Without this package users can only compare rules, not fit one to their data."""
