"""What Penstock costs and how fast it is, measured beside others: `python -m penstock_bench CASE …`."""
