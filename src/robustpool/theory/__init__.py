"""What only the proofs of the paper need: coverings, couplings, smoothing, distances and plans."""
