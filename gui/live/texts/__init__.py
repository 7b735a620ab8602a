"""What is said of the picture: the line above it, figures beside it, and the line below."""
