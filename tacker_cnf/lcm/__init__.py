"""The core of lifecycle management: values in, values out."""
