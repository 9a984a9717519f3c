import Testing

@testable import MigrationArchive
