"""Published systems of federated survival analysis, formula for formula, with the bounds that can be proved of them."""
