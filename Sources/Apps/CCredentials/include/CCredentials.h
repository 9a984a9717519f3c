#pragma once

// Finds the socket to the broker of credentials, which `peer app run` gives an app. Its number and
// its inode are in the environment. Returns the number; -1 if this process has no such socket, or
// has closed it and uses the number for another file.
int ccredentials_socket(void);
