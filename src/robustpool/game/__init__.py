"""The aggregator's side of the game: payoffs, the tables that it may say, its best response and the master programmes."""
