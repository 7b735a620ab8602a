"""The engine of a camera, and the contract that a camera fulfils."""
