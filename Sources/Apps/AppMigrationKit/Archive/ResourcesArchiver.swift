internal import Dispatch
internal import MigrationSystem
internal import MigrationWire

/// The archive to which an exporter appends its app's items.
///
/// It belongs to one export, and cannot be shared.
public final class ResourcesArchiver {
  private let destination: any ItemDestination

  init(_ destination: any ItemDestination) { self.destination = destination }

  /// Appends a file, or a directory with its whole contents, hidden and empty items included, in
  /// its present state.
  ///
  /// Returns when the item has been read; from then on the item may be removed or changed. A
  /// symbolic link is appended as a link, wherever it leads. Names are bytes: nothing is
  /// normalised. A name that is not UTF-8 can only be given as a percent-encoded URL
  /// (`file:///tmp/%FF`); Foundation's listings do not return such names, but an appended directory
  /// includes them.
  ///
  /// Throws a `CocoaError` if the item cannot be read or its path is taken. It then appends
  /// nothing, and the archiver can still be used. Throws a `CancellationError` once the migration
  /// has ended; the exporter has to let this error through.
  /// - Parameters:
  ///   - url: the place of the item; a file URL.
  ///   - pathInArchive: the item's path, relative to the importer's directory; used verbatim
  ///     (default: the last component of `url`).
  public func appendItem(at url: URL, pathInArchive: String? = nil) async throws {
    let destination = destination
    // Opening files and waiting for answers need threads that may block. An export that the system
    // called runs on such threads.
    try await withTaskExecutorPreference(BlockingExecutor.shared) {
      try destination.refuseIfCancelled()
      let source: [UInt8]
      let path: ArchivePath
      do throws(CocoaError) {
        source = try url.fileSystemBytes()
        path = try ArchivePath(checking: pathInArchive.map { Array($0.utf8) } ?? source.lastComponent)
      } catch {
        destination.failed(error)
        throw error
      }
      try destination.append(try destination.open(source), at: path)
    }
  }
}

extension ArchivePath {
  /// Throws Foundation's error for a wrong file name if the path is invalid.
  fileprivate init(checking bytes: [UInt8]) throws(CocoaError) {
    do {
      self = try ArchivePath(bytes)
    } catch {
      throw CocoaError(
        .fileWriteInvalidFileName, "\"\(EscapedText.describing(bytes))\" is not a path within an archive",
        path: String(decoding: bytes, as: UTF8.self))
    }
  }
}

/// An opened item that can be appended.
enum AppendableItem: ~Copyable {
  /// A file or a directory.
  case open(Descriptor)
  case symbolicLink(target: [UInt8], modified: ItemTime)

  /// Opens the item at a path; throws a `CocoaError`.
  init(opening path: [UInt8]) throws(CocoaError) {
    do throws(SystemError) {
      let descriptor = try Descriptor.open(path)
      let kind = try descriptor.status().kind
      guard kind == .regular || kind == .directory else {
        throw SystemError(reason: "it is neither a file nor a directory nor a link", operation: "append")
      }
      self = .open(descriptor)
    } catch {
      guard error.isSymbolicLink else { throw CocoaError(reading: path, error) }
      self = try Self.link(path)
    }
  }

  private static func link(_ path: [UInt8]) throws(CocoaError) -> AppendableItem {
    do throws(SystemError) {
      let (parent, name) = FileContent.split(path)
      let directory = try Directory.open(parent)
      let time = try directory.status(name).modified
      return .symbolicLink(
        target: try directory.readLink(name), modified: ItemTime(seconds: time.seconds, nanoseconds: time.nanoseconds))
    } catch {
      throw CocoaError(reading: path, error)
    }
  }
}

/// The destination of an archiver's items: the host of this process, or a tester.
///
/// All calls may block.
protocol ItemDestination: Sendable {
  /// Throws a `CancellationError` once the export is cancelled.
  func refuseIfCancelled() throws
  /// Opens an item to append; throws a `CocoaError`.
  func open(_ path: [UInt8]) throws(CocoaError) -> AppendableItem
  /// Appends an item; returns when it has been read.
  func append(_ item: consuming AppendableItem, at path: ArchivePath) throws
  /// An append has failed before `open`. The author's code may not look at the error.
  func failed(_ error: CocoaError)
}

/// Threads that may block, for tasks that open files and wait for a host. The cooperative threads
/// are few and must not block.
final class BlockingExecutor: TaskExecutor {
  static let shared = BlockingExecutor { $0() }

  private let queue = DispatchQueue(label: "AppMigrationKit", attributes: .concurrent)
  private let perform: @Sendable (() -> Void) -> Void

  /// - Parameter perform: runs each piece of a task.
  init(_ perform: @escaping @Sendable (() -> Void) -> Void) { self.perform = perform }

  func enqueue(_ job: consuming ExecutorJob) {
    let work = work(of: job)
    queue.async { @Sendable [perform] in perform(work) }
  }
}

extension URL {
  /// The path's bytes for the kernel, without slashes at the end.
  ///
  /// Foundation's own conversion returns nothing for names that are not UTF-8, and leaves the other
  /// names unchanged. This conversion only undoes the percent encoding.
  func fileSystemBytes() throws(CocoaError) -> [UInt8] {
    guard isFileURL else {
      throw CocoaError(.fileReadUnsupportedScheme, "\"\(absoluteString)\" is not a file URL", url: self)
    }
    var bytes: [UInt8] = []
    var encoded = path(percentEncoded: true).utf8[...]
    while let byte = encoded.popFirst() {
      if byte == UInt8(ascii: "%"), let value = UInt8(String(Substring(encoded.prefix(2))), radix: 16) {
        bytes.append(value)
        encoded = encoded.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
    return bytes
  }
}

extension [UInt8] {
  /// The name after the last slash.
  var lastComponent: [UInt8] { lastIndex(of: UInt8(ascii: "/")).map { Array(self[($0 + 1)...]) } ?? self }
}
