"""The controllers: each makes one kind of object true."""
