#pragma once

// Within CSystem: mounts of a process's own.

// Gives the process mounts of its own, which are those that it had; where it may not, also a user namespace in which it may, and
// in which its user and its group are themselves. -1 on failure.
int csystem_leave_mounts(void);
