import CSystem

/// A restricted view of the files for a program that this process becomes: in one directory it sees
/// only its own items.
package struct FileView: Equatable, Sendable {
  /// An absolute path without links.
  package let directory: String
  /// Absolute paths in it, of existing directories and files.
  package let shown: [String]
  /// A directory outside of it that appears empty.
  package let hidden: [UInt8]?

  package init(of directory: String, showing shown: [String], hiding hidden: [UInt8]? = nil) {
    self.directory = directory
    self.shown = shown
    self.hidden = hidden
  }

  /// Tries in another process whether the view is possible here. Returns the error if it is not.
  package func trial() -> SystemError? {
    let error = unsafe calling { view in unsafe csystem_try_to_narrow(view) }
    return error == 0 ? nil : SystemError(errno: error, operation: Self.operation)
  }

  /// Applies the view permanently to this process, and to the programs that it becomes and starts:
  /// in the directory no other item is visible, and none can be created. The process enters the
  /// current directory again by its path, or else the root. It must have only one thread.
  package func apply() throws(SystemError) {
    try perform(Self.operation) { unsafe calling { view in unsafe csystem_narrow(view) } }
  }

  private static let operation = "give a program private mounts"

  private func calling(_ body: (UnsafePointer<csystem_view>) -> CInt) -> CInt {
    var texts = unsafe CStrings(shown.map { Array($0.utf8) } + [Array(directory.utf8)] + (hidden.map { [$0] } ?? []))
    defer { unsafe texts.free() }
    let pointers = unsafe texts.pointers.map { unsafe UnsafePointer($0) }
    return unsafe pointers.withUnsafeBufferPointer { pointers in
      // A null pointer follows the last text.
      var view = unsafe csystem_view(
        directory: pointers[shown.count], shown: pointers.baseAddress, shown_count: shown.count,
        hidden: pointers[shown.count + 1])
      return unsafe body(&view)
    }
  }
}
