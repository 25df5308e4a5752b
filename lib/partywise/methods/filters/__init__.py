"""Privacy layers of federated-learning frameworks, judged; and one filter whose guarantee is proved.

``certified`` clips, adds exact integer noise and pays for it; ``adapters`` put it into Flower and NVFlare.
"""
