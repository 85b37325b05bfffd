"""What a broker shows of itself: its status, its metrics, and the HTTP endpoint that has them."""
