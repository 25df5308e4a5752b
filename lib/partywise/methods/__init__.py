"""One package per method: arrays in, arrays out, usable without the pipeline. Methods do not import each other."""
