"""What is past: any frame that a file, or the window itself, still has."""
