"""The claims register: every printed number of the source documents next to ours, with a status by one rule."""
