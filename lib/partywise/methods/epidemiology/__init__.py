"""Tables, measures of epidemiology and their intervals, from one noisy release of counts and sums."""
