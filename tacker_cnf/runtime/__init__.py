"""What every long-running part needs: cancellation, deadlines, queues, leases."""
