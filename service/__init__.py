"""What a service of Penstock has beside its own work: YAML with sentences, HTTP, a page, a child to watch.

The receiver and live processing are such services; nothing here knows either.
"""
