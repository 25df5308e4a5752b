"""The pipeline's library: from a configuration to cubes, tables and figures."""
