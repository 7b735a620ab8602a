"""The merge of several sessions that make one image: the modules of one detector, each with an endpoint of
its own."""
