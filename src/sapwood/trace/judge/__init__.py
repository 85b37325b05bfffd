"""Whether a trace shows a correct system, and the story of a notification that was not."""
