"""The exact audit walks every path of coins through the SDK and proves how much it reveals.

It proves what a report of one answer reveals if the coins are fair. It takes for granted the
operating system's generator, and that a pseudo-random function looks random to anyone without its
secret.
"""
