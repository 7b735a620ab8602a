"""The merge of several sessions into one: the modules of one detector, each with its own endpoint."""
