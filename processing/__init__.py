"""Live processing: a scientist's class, run on every frame by as many workers as there are."""
