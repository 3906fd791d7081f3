"""compile: is not Python"""

def double(x)
    return x
