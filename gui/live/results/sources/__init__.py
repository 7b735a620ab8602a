"""Where results come from: a pipeline or its result file, and the thread that asks for them."""
