"""The zero-sum game: losses, paradigms, payoffs, and both players' best responses."""
