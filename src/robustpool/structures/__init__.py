"""WHAT NATURE MAY CHOOSE: information structures and families of them."""
