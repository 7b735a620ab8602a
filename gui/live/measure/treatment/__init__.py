"""What is done to frames before they are drawn and measured: background, masks, last frames."""
