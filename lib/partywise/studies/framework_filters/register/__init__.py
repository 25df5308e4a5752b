"""What frameworks of federated learning print or say of their privacy layers, and the facts that no fit reports."""
