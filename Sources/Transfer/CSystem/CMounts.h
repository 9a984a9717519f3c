#pragma once

// Within CSystem: private mounts of a process.

// Gives the process private mounts, at first the mounts that it had. If it lacks the permission, it
// also gets a user namespace in which it has the permission and in which its user and its group are
// mapped to themselves. -1 on failure.
int csystem_leave_mounts(void);
