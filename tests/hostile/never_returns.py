"""timeout: loops for ever"""


def double(x):
    while True:
        pass
