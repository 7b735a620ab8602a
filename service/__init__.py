"""What a service of Penstock has beside its own work: YAML with sentences, HTTP, a page, a child to watch.

Receiver, live processing, bridge to EPICS and control on Kubernetes are such services; nothing here knows any
of them.
"""
