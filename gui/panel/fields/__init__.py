"""Fields in which a setting is typed, and forms of them."""
