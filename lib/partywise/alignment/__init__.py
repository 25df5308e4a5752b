"""Record alignment: the common records of several parties in one order."""
