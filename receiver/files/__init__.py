"""The file of a series: where it may lie, what stands in it, how it is written."""
