import Testing

@testable import MigrationHost
