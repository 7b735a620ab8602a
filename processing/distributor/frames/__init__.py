"""Frames that wait or are in work: their account, their queues, and which worker gets them."""
