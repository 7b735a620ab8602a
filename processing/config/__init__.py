"""What a pipeline is: its file, its classes, its entry at the receiver."""
