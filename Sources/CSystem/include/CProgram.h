#pragma once

#include <stdint.h>
#include <sys/types.h>

// Programs that this one starts for its user, with all of its rights, and the owners of connections
// on this machine.

// Starts a program, which is looked for in PATH if its name has no slash, with three descriptors as
// its standard ones and no other. It has a process group of its own, or a session of its own, so
// that a terminal does not end it. Returns its number, or -1.
pid_t csystem_run(const char *program, char *const arguments[], const int descriptors[3], int has_session);

// Asks the kernel which user owns the socket of a connection over 127.0.0.1, by both of its ports.
// Returns 0; or -1, also if there is no such socket.
int csystem_connection_owner(uint16_t port, uint16_t to_port, uint32_t *owner);
