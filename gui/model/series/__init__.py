"""The running series, the last one and those before: plan, account, losses, and how they ended."""
