"""What the user can do with the picture: tools, each with what it acts on, and the tool bar that has them."""
