"""Jobs: work that takes longer than a request, in processes of its own, with a queue, limits and a memory of what was asked."""
