"""How bytes reach the disk: the order of writes, the thread that writes, locks, room ahead."""
