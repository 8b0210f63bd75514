"""Many designs, worst cases or certificates at once: from one file of settings to one table of results."""
