"""Run scripts of VNF packages in child processes."""
