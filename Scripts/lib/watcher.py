"""Code that relays share: the sockets to wait for, and the events."""

import selectors


class Watcher:
    """A selector that is updated with what each socket waits for."""

    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.watched = {}

    def watch(self, one, link, mask):
        before = self.watched.get(one, 0)
        if mask == before:
            return
        if not before:
            self.selector.register(one, mask, link)
        elif mask:
            self.selector.modify(one, mask, link)
        else:
            self.selector.unregister(one)
        self.watched[one] = mask
