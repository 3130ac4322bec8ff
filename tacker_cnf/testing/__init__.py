"""What the tests of drivers in other distributions use."""
