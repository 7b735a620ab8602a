"""Benchmarks: what this machine does, always beside a limit or a rival measured in the same run."""
