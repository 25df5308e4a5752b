"""Sequence diagrams of transcripts: who sends what to whom, in order, with rounds as loops."""
