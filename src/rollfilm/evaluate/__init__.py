"""Running fixed lists of episodes, and what came of them."""
