#pragma once

// AppMigrationKit's work before and after main. A program only has to link it.

// Whether this is a test's process: a process with XCTest or Testing. An app or an extension has
// neither.
int appmigrationkit_is_test(void);

// The directory of Foundation's preferences in a test's process; NULL in all other processes. It is
// made at the first write, and removed when the process ends. The text never changes and lives as
// long as the process, so Swift may use it without a mark.
__attribute__((swift_attr("@safe"))) const char *appmigrationkit_test_preferences(void);
