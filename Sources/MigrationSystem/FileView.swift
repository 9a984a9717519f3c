import CSystem

/// What a program that this process becomes sees of the files that are there: of one directory only what is its own.
package struct FileView: Equatable, Sendable {
  /// An absolute path without links.
  package let directory: String
  /// Absolute paths in it, of directories and files that are there.
  package let shown: [String]
  /// A directory outside of it that is seen empty.
  package let hidden: [UInt8]?

  package init(of directory: String, showing shown: [String], hiding hidden: [UInt8]? = nil) {
    self.directory = directory
    self.shown = shown
    self.hidden = hidden
  }

  /// Tries in another process whether the view can be had here; what failed, if it cannot.
  package func trial() -> SystemError? {
    let error = unsafe calling { view in unsafe csystem_try_to_narrow(view) }
    return error == 0 ? nil : SystemError(errno: error, operation: Self.operation)
  }

  /// From now on this process sees no more, nor does what it becomes and starts, for good: nothing else is in the directory, and
  /// nothing can be made there. The current directory is entered again by its path, or else the root is. This process has no other
  /// thread.
  package func apply() throws(SystemError) {
    try perform(Self.operation) { unsafe calling { view in unsafe csystem_narrow(view) } }
  }

  private static let operation = "give a program mounts of its own"

  private func calling(_ body: (UnsafePointer<csystem_view>) -> CInt) -> CInt {
    var texts = unsafe CStrings(shown.map { Array($0.utf8) } + [Array(directory.utf8)] + (hidden.map { [$0] } ?? []))
    defer { unsafe texts.free() }
    let pointers = unsafe texts.pointers.map { unsafe UnsafePointer($0) }
    return unsafe pointers.withUnsafeBufferPointer { pointers in
      // Behind the last text stands nil.
      var view = unsafe csystem_view(
        directory: pointers[shown.count], shown: pointers.baseAddress, shown_count: shown.count,
        hidden: pointers[shown.count + 1])
      return unsafe body(&view)
    }
  }
}
