"""The two processes: the data process with its pipeline, and the supervisor that starts it and answers."""
