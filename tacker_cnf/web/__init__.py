"""The web page for operators: HTML of what the API has, with the same services
and policies.
"""
