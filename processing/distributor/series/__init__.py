"""The series of a pipeline: how each begins, what its frames become, and where results go."""
