"""What a result is drawn in: curves, images, numbers; and how that is saved."""
