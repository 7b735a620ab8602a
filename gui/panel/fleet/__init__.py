"""The page of all detectors, receivers, pipelines and bridges."""
