import MigrationSystem
import MigrationWire

extension Features {
  /// This device's features: zstd where it has the library.
  static let ofThisDevice: Features = Zstandard.isAvailable ? [.zstd, .refusals] : .refusals
}
