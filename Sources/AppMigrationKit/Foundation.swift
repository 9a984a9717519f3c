/// Authors import AppMigrationKit alone, and use URL, FileManager, Progress and their like in the same file.
@_exported public import Foundation
