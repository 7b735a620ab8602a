"""The series of one detector: what arms it, follows it and ends it, and knows no Tango."""
