"""`penstock sardana-register`: what an existing Sardana lacks of Penstock, and writing it."""
