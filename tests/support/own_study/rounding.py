"""A part of the protocol in a file of its own: an edit of it reruns the fits."""


def rounded(value: float) -> float:
    return round(value, 12)
