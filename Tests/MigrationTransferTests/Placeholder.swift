import Testing

@testable import MigrationTransfer
