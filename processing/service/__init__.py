"""What a pipeline is for others: HTTP, and the supervisor of its processes."""
