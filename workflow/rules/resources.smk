"""What jobs ask of a machine: more memory and time at each attempt.

Inputs: the number of the attempt.  Outputs: functions for the resources of the rules in study.smk.
"""


def memory(megabytes):
    """Memory in MB, as often as there were attempts; at least 500, which a cluster job needs for itself.

    ``megabytes`` is a number, or a function of the wildcards where a job grows with its study.
    """

    def of_attempt(wildcards, attempt):
        needed = megabytes(wildcards) if callable(megabytes) else megabytes
        return max(500, needed) * attempt

    return of_attempt


def minutes(number):
    """Run time in minutes, as often as there were attempts."""

    def of_attempt(wildcards, attempt):
        return number * attempt

    return of_attempt
