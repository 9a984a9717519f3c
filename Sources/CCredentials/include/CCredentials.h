#pragma once

// Finds the socket that leads to the broker of credentials, which `peer app run` gives an app: its number and the inode that it
// must have are in the environment. Returns its number; -1 if this process has none, or has closed it and uses the number for
// something else.
int ccredentials_socket(void);
