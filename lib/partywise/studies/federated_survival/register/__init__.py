"""What published systems of federated survival analysis print or say, and the facts that no fit reports."""
