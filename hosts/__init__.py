"""What a program needs of its host: child processes, sockets, a Tango database, which Penstock it is."""
