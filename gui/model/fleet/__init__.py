"""All devices of a Tango database, and pipelines and bridges behind them, as rows of one table."""
