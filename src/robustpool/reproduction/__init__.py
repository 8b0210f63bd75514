"""The paper, reproduced: its table, its figures, and where our numbers differ from it."""
