"""What is done to each frame between the source and the file: checked, transformed, assembled."""
