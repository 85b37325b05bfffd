"""What a broker process is told: its settings, and where they come from."""
