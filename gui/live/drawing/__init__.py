"""From a frame to the pixels of the screen, in a thread: no spot is lost, and the window never waits.

What is made here is for drawing only. No number, profile, background or file is made of it.
"""
