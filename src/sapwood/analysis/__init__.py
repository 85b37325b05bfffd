"""What can be computed about a network before it runs: formulas, with no I/O and no clock."""
