/// Authors import only AppMigrationKit, and use URL, FileManager, Progress and similar types in the
/// same file.
@_exported public import Foundation
