import MigrationSystem
import MigrationWire

extension Features {
  /// What this device can do: zstd where it has the library.
  static let ofThisDevice: Features = Zstandard.isAvailable ? [.zstd, .refusals] : .refusals
}
