"""Runtime of long-running work: cancellation, deadlines, queues, leases."""
