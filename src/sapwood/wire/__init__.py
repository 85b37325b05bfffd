"""Messages as bytes: frames, and what is inside them. No input or output happens here."""
