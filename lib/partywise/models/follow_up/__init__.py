"""Times until an event: partial likelihoods, and curves of competing causes from counts."""
