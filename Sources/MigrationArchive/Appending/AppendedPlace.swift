package import MigrationSystem
package import MigrationWire

/// A directory that an app appends, or one file that the app has opened, presented as a directory
/// that contains only this file.
package final class AppendedPlace: SourceDirectory {
  private enum Contents {
    case directory(RealDirectory)
    case file(RealFile, on: SourceFileSystem)
  }

  private let contents: Contents

  init(_ directory: RealDirectory) { contents = .directory(directory) }

  /// Presents one open file as its directory.
  init(file descriptor: consuming Descriptor) throws(SystemError) {
    let fileSystem = try SourceFileSystem(of: descriptor, SourceClocks())
    contents = .file(fileSystem.file(descriptor), on: fileSystem)
  }

  package func open(_ name: ArraySlice<UInt8>) throws(SystemError) -> RealFile {
    switch contents {
    case .directory(let directory): try directory.open(name)
    case .file(let file, _): file
    }
  }

  package func status(_ name: ArraySlice<UInt8>) throws(SystemError) -> FileStatus {
    switch contents {
    case .directory(let directory): try directory.status(name)
    case .file(let file, _): try file.status()
    }
  }

  package func leftBehind(of name: ArraySlice<UInt8>) throws(SystemError) -> [[UInt8]] {
    switch contents {
    case .directory(let directory): try directory.leftBehind(of: name)
    case .file(let file, _): try file.extendedMetadata().leftBehind
    }
  }

  package func readLink(_ name: ArraySlice<UInt8>) throws(SystemError) -> [UInt8] {
    try onlyDirectory.readLink(name)
  }

  package func extendedMetadata(ofDirectory name: ArraySlice<UInt8>) throws(SystemError) -> ExtendedMetadata {
    try onlyDirectory.extendedMetadata(ofDirectory: name)
  }

  package func directory(at path: ArchivePath) throws(SystemError) -> AppendedPlace {
    AppendedPlace(try onlyDirectory.directory(at: path))
  }

  package func fileSystem(of status: FileStatus) -> UInt64 {
    switch contents {
    case .directory(let directory): directory.fileSystem(of: status)
    case .file(_, let fileSystem): fileSystem.number(of: status)
    }
  }

  package func look(_ status: () throws(SystemError) -> FileStatus) throws(SystemError) -> SourceLook {
    switch contents {
    case .directory(let directory): try directory.look(status)
    case .file(_, let fileSystem): try fileSystem.look(status)
    }
  }

  package func showsEveryChange(_ status: FileStatus) -> Bool {
    switch contents {
    case .directory(let directory): directory.showsEveryChange(status)
    case .file(_, let fileSystem): fileSystem.showsEveryChange(status)
    }
  }

  package static var canFetch: Bool { true }

  package func fetch(_ name: ArraySlice<UInt8>, length: Int) {
    if case .directory(let directory) = contents { directory.fetch(name, length: length) }
  }

  /// An open file contains neither links nor directories.
  private var onlyDirectory: RealDirectory {
    guard case .directory(let directory) = contents else { preconditionFailure("an open file is no directory") }
    return directory
  }
}
