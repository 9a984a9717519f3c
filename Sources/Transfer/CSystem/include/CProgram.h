#pragma once

#include <stdint.h>
#include <sys/types.h>

// Programs that this one starts for its user, with all of its rights, and the owners of connections
// on this machine.

// Starts a program with three descriptors as its standard descriptors and no other descriptor. A
// name without a slash is looked up in PATH. The program has its own process group, or its own
// session, so that a terminal does not end it. Returns its number, or -1.
pid_t csystem_run(const char *program, char *const arguments[], const int descriptors[3], int has_session);

// Asks the kernel which user owns the other end of an accepted connection from 127.0.0.1 to 127.0.0.1.
// Returns 0; or -1, also if that end is closed, or at another address.
int csystem_other_end_owner(int connection, uint32_t *owner);
