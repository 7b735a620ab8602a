"""`penstock sardana-register`: find out what an existing Sardana lacks of Penstock, and write it."""
