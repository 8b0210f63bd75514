"""What the verifier says when it does not agree."""


class Refused(Exception):  # noqa: N818  (a verdict, not an error)
    """A claim does not hold, or could not be shown to hold; the message is a sentence that names the place."""
