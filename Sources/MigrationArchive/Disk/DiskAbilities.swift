package import MigrationWire

/// What a file system can do, as a probe of it found out by doing it.
///
/// What could not be found out is taken as possible: then the first use that fails tells.
package struct DiskAbilities: Equatable, Sendable {
  /// Whether something can be given a name in one step that fails if the name is taken.
  package var renamesWithoutReplacing = true
  /// Whether two names can change places in one step.
  package var exchangesNames = true
  package var makesHardLinks = true
  package var keepsSymbolicLinks = true
  /// The most bytes in a symbolic link's target; nil where every target that travels fits.
  package var longestTarget: Int?
  /// The most bytes in a file; nil where every file that travels fits.
  package var largestFile: UInt64?
  /// What names must be like.
  package var nameRules: DestinationTraits.NameRules = []
  /// The most bytes in a name; nil where every name that travels fits.
  package var longestName: Int?
  package var foldsCase = false
  package var foldsNormalisation = false
  /// Times are kept in multiples of so many nanoseconds, rounded down.
  package var timeGranularity: UInt32 = 1
  /// Whether times that are set are kept, if only rounded.
  package var keepsTimes = true
  /// The rights that everything has where they cannot be set; nil where they can.
  package var fixedRights: FixedRights?
  /// Whether files have extended attributes of the user's.
  package var keepsAttributes = true
  /// Whether a directory can be locked.
  package var locks = true
  /// Whether the names in a directory can be made durable by themselves.
  package var synchronizesDirectories = true
  /// Whether a file can be made longer without writing to it.
  package var extendsFiles = true
  /// Whether what was never written takes no room.
  package var keepsHoles = true
  /// Whether a file has the same number under its next name.
  package var keepsNumbers = true

  /// Rights that files and directories have whatever is set.
  package struct FixedRights: Equatable, Sendable {
    package let file: UInt32
    package let directory: UInt32

    package init(file: UInt32, directory: UInt32) {
      self.file = file
      self.directory = directory
    }
  }

  package init() {}

  /// What the other device is told of it.
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
