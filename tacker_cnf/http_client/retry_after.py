"""The header Retry-After."""

import datetime
import email.utils


def retry_after(text: str) -> float | None:
    """Parse the header Retry-After (IETF RFC 9110, 10.2.3).

    :returns: seconds; None: the header is malformed
    """
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    left = (moment - datetime.datetime.now(datetime.UTC)).total_seconds()
    return max(left, 0.0)
