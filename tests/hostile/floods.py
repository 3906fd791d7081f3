"""crash: prints without end"""


def double(x):
    while True:
        print("spam" * 1000)
