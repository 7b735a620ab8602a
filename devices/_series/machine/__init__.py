"""The machine of one detector's series: what happens, by state; it calls nobody and waits for nothing."""
