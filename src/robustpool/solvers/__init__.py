"""Solvers: each is a record of settings whose ``iterate`` yields one immutable state a round."""
