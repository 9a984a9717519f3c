#pragma once

// What AppMigrationKit does before main, and after it; a program that links it needs to use nothing else of it.

// Whether this is a test's process: one that has XCTest or Testing. Neither belongs into an app, nor into an extension.
int appmigrationkit_is_test(void);

// The directory where Foundation keeps the preferences of a test's process; NULL in all others. It is made when something is
// first kept, and goes when the process ends.
const char *appmigrationkit_test_preferences(void);
