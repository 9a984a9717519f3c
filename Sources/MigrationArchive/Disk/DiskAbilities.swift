package import MigrationWire

/// The abilities of a file system, as a probe found them by trying.
///
/// An ability that the probe could not test counts as present: the first use that fails shows that
/// it is missing.
package struct DiskAbilities: Equatable, Sendable {
  /// Whether one rename can give an item a name and fail if the name is taken.
  package var renamesWithoutReplacing = true
  /// Whether one call can exchange two names.
  package var exchangesNames = true
  package var makesHardLinks = true
  package var keepsSymbolicLinks = true
  /// The most bytes in a symbolic link's target; nil if every target that a sender can send fits.
  package var longestTarget: Int?
  /// The most bytes in a file; nil if every file that a sender can send fits.
  package var largestFile: UInt64?
  /// The rules for names.
  package var nameRules: DestinationTraits.NameRules = []
  /// The most bytes in a name; nil if every name that a sender can send fits.
  package var longestName: Int?
  package var foldsCase = false
  package var foldsNormalisation = false
  /// The file system keeps times in multiples of this many nanoseconds, rounded down.
  package var timeGranularity: UInt32 = 1
  /// Whether the file system keeps the times that are set, possibly rounded.
  package var keepsTimes = true
  /// The permissions of every item if they cannot be set; nil if they can.
  package var fixedRights: FixedRights?
  /// Whether files have extended attributes of the user namespace.
  package var keepsAttributes = true
  /// Whether a directory can be locked.
  package var locks = true
  /// Whether the names in a directory can be made durable on their own.
  package var synchronizesDirectories = true
  /// Whether a file can be extended without writing to it.
  package var extendsFiles = true
  /// Whether ranges that were never written take no space.
  package var keepsHoles = true
  /// Whether a file keeps its inode number when it is renamed.
  package var keepsNumbers = true

  /// Whether an inode number tells an entry from every other one for as long as it exists. File
  /// systems without permissions make the numbers up.
  package var tellsEntriesApart: Bool { keepsNumbers && fixedRights == nil }

  /// The permissions that files and directories have, regardless of the mode that is set.
  package struct FixedRights: Equatable, Sendable {
    package let file: UInt32
    package let directory: UInt32

    package init(file: UInt32, directory: UInt32) {
      self.file = file
      self.directory = directory
    }
  }

  package init() {}

  /// The traits that the receiver reports to the other device.
  package var traits: DestinationTraits {
    var traits = DestinationTraits()
    traits.largestFile = largestFile
    traits.keepsSymbolicLinks = keepsSymbolicLinks
    traits.longestTarget = longestTarget
    traits.nameRules = foldsCase || foldsNormalisation ? nameRules.union(.foldsNames) : nameRules
    traits.longestName = longestName
    traits.timeGranularity = timeGranularity
    return traits
  }
}
