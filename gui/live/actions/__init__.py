"""What the user can do with the picture: one action a file, each with the plot it acts on."""
