"""The claims register: every printed number of the source documents beside ours, with a status by one rule."""
