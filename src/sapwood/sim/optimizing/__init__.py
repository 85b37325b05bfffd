"""Networks that change their tree to be cheaper, run message by message (thesis, chapter 5)."""
