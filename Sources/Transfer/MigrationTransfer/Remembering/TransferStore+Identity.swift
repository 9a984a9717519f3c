import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// The key that this device shows as a receiver with known devices.
extension TransferStore {
  private static let identityFile = Array("key".utf8)

  /// The key that this device shows as a receiver in every session: made where there is none yet, if
  /// that is wanted.
  func identity(orMake makes: Bool) throws(Failure) -> Identity? {
    do {
      if let folder = try openFolder(Self.devicesFolder),
        let bytes = try Self.contents(of: Self.identityFile, in: folder, limit: 4096)
      {
        return try Identity(encoded: bytes)
      }
      guard makes else { return nil }
      return try changingDevices {
        // Another process may just have made it.
        if let made = try identity(orMake: false) { return made }
        let new = try Identity.generate()
        let encoded = try new.encoded()
        try storing { () throws(SystemError) in
          try openOrMakeFolder(Self.devicesFolder).directory.replaceFile(Self.identityFile, with: encoded)
        }
        return new
      }
    } catch {
      let file = VisibleText.quoted(home + Array("/devices/key".utf8))
      throw Failure(
        .storage, "this device's key for known devices, \(file), cannot be used: \(Failure(error).message)",
        hint: "Remove that file: known devices then need a code once more.")
    }
  }
}
