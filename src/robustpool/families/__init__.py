"""Sets of information structures, one file each, and what nature does with each of them."""
